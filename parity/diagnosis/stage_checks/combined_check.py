"""Checks combined gradients: the stated mean or sum of that side's own replica gradients, clipped as stated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from parity.comparison import stages
from parity.comparison.fits import fit_combination, flatten_arrays
from parity.diagnosis.candidates.combined_forms import CombinedForm, combine_gradients
from parity.diagnosis.stage_checks.side_step import SideStep
from parity.diagnosis.stage_checks.tensor_error import TensorError, elements_error
from workloads.program import Arrays

#: Roundings of a sum of two gradients.
MOST_SUM = 4.0

#: The factor that clipping multiplies with counts as so many of them, at most, and one more for so many elements along
#: the side of a square: kernels add up the squares of a large tensor in a row, and their rounding walks at random.
CLIPPED, MOST_CLIPPED, SIDE = 1.5, 16.0, 64.0


def check_combined(side: SideStep, form: CombinedForm, eps: float) -> list[TensorError]:
    """Checks one side's combined gradients.

    Args:
      side: the step.
      form: reduction and clipping.
      eps: machine epsilon of the weights.

    Returns:
      one error for each weight; empty if the record lacks the replicas' gradients or the combined ones.
    """
    gradients, combined = side.record.gradients, side.record.combined
    names = [
        name
        for name in sorted(combined)
        if gradients and all(name in g and np.shape(g[name]) == np.shape(combined[name]) for g in gradients)
    ]
    if not names or (form.where is not None and len(names) < len(gradients[0])):
        return []  # a norm over some of the gradients is not the norm that was clipped
    chosen = [{name: gradient[name] for name in names} for gradient in gradients]
    with np.errstate(all="ignore"):
        expected = combine_gradients(chosen, form)
    return list(_errors(side, form, expected, chosen, eps))


def _errors(
    side: SideStep, form: CombinedForm, expected: Arrays, gradients: Sequence[Arrays], eps: float
) -> Iterator[TensorError]:
    share = 1.0 / len(gradients) if form.reduce == "mean" else 1.0
    most = MOST_SUM + len(gradients)
    for name, value in expected.items():
        actual = np.asarray(side.record.combined[name], np.float64)
        with np.errstate(all="ignore"):
            addends = sum((np.abs(np.asarray(g[name], np.float64)) for g in gradients), np.zeros(()))
            scaled = _norm_roundings(gradients[0]) if form.where is not None else 0.0
            unit = eps * (share * addends + scaled * np.abs(value)) + np.finfo(np.float32).tiny
        roundings = elements_error(actual, value, unit)
        fact = "" if roundings <= most else combined_fact(actual, name, gradients)
        yield TensorError(stages.COMBINED, name, side.record.step, roundings, most, fact)


def _norm_roundings(gradients: Arrays) -> float:
    """Roundings of a factor that is computed from the gradients' norm."""
    largest = max((np.size(value) for value in gradients.values()), default=0)
    return min(MOST_CLIPPED, CLIPPED + float(np.sqrt(largest)) / SIDE)


def combined_fact(actual: np.ndarray, name: str, gradients: Sequence[Arrays]) -> str:
    """Describes a combined gradient that the form does not explain, by its fit to the replicas' gradients.

    Args:
      actual: the combined gradient of one weight.
      name: of the weight.
      gradients: each replica's {weight: gradient}.

    Returns:
      a phrase.
    """
    if not np.all(np.isfinite(actual)):
        return "values that are not finite"
    fit = fit_combination([flatten_arrays(gradient, [name]) for gradient in gradients], np.ravel(actual))
    shares = ", ".join(f"{share:.6g}" for share in fit.coefficients)
    return f"{shares} x the replicas' gradients, residual {fit.residual:.1e}"
