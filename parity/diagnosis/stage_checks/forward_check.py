"""Checks losses, gradients and proposed statistics against the left's, in steps from the same weights and batch.

Kernels round these in an order that no record shows, so that the bound is on a tensor's length: some roundings of it,
and of the whole gradient's, below which a tensor is pure rounding (a bias before a batch normalization). A distance of
the weights before the step widens the bounds; beyond `MOST_GAP` nothing is judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from parity.comparison import stages
from parity.comparison.fits import fit_combination, fit_factor
from parity.diagnosis.stage_checks.side_step import StepPair
from parity.diagnosis.stage_checks.tensor_error import TensorError, norm_error
from workloads.program import Arrays

#: Roundings of a tensor's own length, of the whole gradient's length, and the most that noisy tensors get.
MOST_OWN, MOST_WHOLE, MOST_NOISY = 100.0, 30.0, 150.0

#: A relative distance of the weights may make this many times as large a one of a gradient.
AMPLIFIED = 1000.0

#: Steps whose weights are further apart are not judged.
MOST_GAP = 1e-4


class ForwardErrors(NamedTuple):
    """Errors of one step's forward and backward pass.

    Attributes:
      errors: of losses, gradients and proposals.
      pure_rounding: weights whose gradients are nothing but rounding, and are not judged.
    """

    errors: list[TensorError]
    pure_rounding: list[str]


def check_forward(pair: StepPair, eps: float) -> ForwardErrors:
    """Checks the right side's losses, gradients and proposals.

    Args:
      pair: a step from the same batches and dropout masks.
      eps: machine epsilon of the weights.

    Returns:
      the errors; where the weights are too far apart, those of values alone that are not finite.
    """
    if not pair.state_gap <= MOST_GAP:
        return ForwardErrors(list(_broken_values(pair)), [])
    amplified = AMPLIFIED * pair.state_gap / eps
    errors = list(_check_losses(pair, eps, amplified))
    gradients, noise = _check_gradients(pair, eps, amplified)
    return ForwardErrors(errors + gradients + list(_check_proposals(pair, eps, amplified)), noise)


def _broken_values(pair: StepPair) -> Iterator[TensorError]:
    """Errors of losses and gradients that are not finite though the weights before the step and the left's are."""
    left, right = pair.left.record, pair.right.record
    if not all(np.all(np.isfinite(weight)) for weight in pair.right.before.weights.values()):
        return
    fact, infinite = "values that are not finite", float("inf")
    for replica, (a, b) in enumerate(zip(left.losses, right.losses)):
        if np.all(np.isfinite(a)) and not np.all(np.isfinite(b)):
            yield TensorError(stages.LOSS, f"replica {replica}", left.step, infinite, MOST_OWN, fact)
    broken = {
        name
        for a, b in zip(left.gradients, right.gradients)
        for name in a
        if name in b and np.all(np.isfinite(a[name])) and not np.all(np.isfinite(b[name]))
    }
    for name in sorted(broken):
        yield TensorError(stages.GRADIENTS, name, left.step, infinite, MOST_OWN, fact)


def _check_losses(pair: StepPair, eps: float, amplified: float) -> Iterator[TensorError]:
    left, right = pair.left.record, pair.right.record
    if len(left.losses) != len(right.losses):
        return
    for replica, (a, b) in enumerate(zip(left.losses, right.losses)):
        first, second = np.asarray(a, np.float64), np.asarray(b, np.float64)
        most = MOST_OWN + amplified
        if first.shape != second.shape or not np.all(np.isfinite(first)):
            continue
        roundings = norm_error(second, first, float(np.linalg.norm(first)), eps)
        fact = ""
        if not roundings <= most:
            fact = f"{float(second.flat[0]):.7g} against {float(first.flat[0]):.7g}"
        yield TensorError(stages.LOSS, f"replica {replica}", left.step, roundings, most, fact)


def _check_gradients(pair: StepPair, eps: float, amplified: float) -> tuple[list[TensorError], list[str]]:
    left, right = pair.left.record, pair.right.record
    if not left.gradients or len(left.gradients) != len(right.gradients):
        return [], []
    worst: dict[str, TensorError] = {}
    noise: set[str] = set()
    for a, b in zip(left.gradients, right.gradients):
        for name, error in _replica_errors(left.step, a, b, eps, amplified).items():
            if error is None:
                noise.add(name)
            elif name not in worst or not error.roundings / error.most <= worst[name].roundings / worst[name].most:
                worst[name] = error
    return list(worst.values()), sorted(noise - set(worst))


def _replica_errors(
    step: int, left: Arrays, right: Arrays, eps: float, amplified: float
) -> dict[str, TensorError | None]:
    """{weight: error of its gradient on one replica}; None for a gradient that is pure rounding on both sides."""
    names = [name for name in sorted(left) if name in right and np.shape(left[name]) == np.shape(right[name])]
    pairs = {name: (np.asarray(left[name], np.float64), np.asarray(right[name], np.float64)) for name in names}
    pairs = {name: (a, b) for name, (a, b) in pairs.items() if np.all(np.isfinite(a))}
    lengths = {name: float(np.linalg.norm(a)) for name, (a, _) in pairs.items()}
    whole = float(np.sqrt(sum(length**2 for length in lengths.values())))
    residuals = [fit_factor(a.ravel(), b.ravel()).residual for name, (a, b) in pairs.items() if lengths[name]]
    known = [residual for residual in residuals if np.isfinite(residual)]
    usual = float(np.median(known)) / eps if known else 0.0  # a factor is no noise, and excuses nothing
    most = min(max(MOST_OWN, 10 * usual), MOST_NOISY) + amplified
    errors: dict[str, TensorError | None] = {}
    for name, (a, b) in pairs.items():
        floor = MOST_WHOLE / MOST_OWN * float(np.sqrt(max(whole**2 - lengths[name] ** 2, 0.0)))
        roundings = norm_error(b, a, lengths[name] + floor, eps)
        if roundings <= most and lengths[name] <= MOST_WHOLE * eps * whole:
            errors[name] = None
            continue
        fact = "" if roundings <= most else _gradient_fact(a, b)
        errors[name] = TensorError(stages.GRADIENTS, name, step, roundings, most, fact)
    return errors


def _gradient_fact(left: np.ndarray, right: np.ndarray) -> str:
    if not np.all(np.isfinite(right)):
        return "values that are not finite"
    if not np.any(right):
        return "is zero"
    fit = fit_factor(left.ravel(), right.ravel())
    if not np.isfinite(fit.factor):
        return "is not zero, and legacy's is"
    return f"{fit.factor:.6g} x legacy's, residual {fit.residual:.1e}"


def _check_proposals(pair: StepPair, eps: float, amplified: float) -> Iterator[TensorError]:
    left, right = pair.left, pair.right
    if len(left.record.proposals) != len(right.record.proposals):
        return
    worst: dict[str, TensorError] = {}
    for a, b in zip(left.record.proposals, right.record.proposals):
        for name in sorted(set(a) & set(b) & set(left.before.statistics) & set(right.before.statistics)):
            error = _proposal_error(pair, name, a, b, eps, amplified)
            if error is not None and (name not in worst or not error.roundings <= worst[name].roundings):
                worst[name] = error
    yield from worst.values()


def _proposal_error(
    pair: StepPair, name: str, left: Arrays, right: Arrays, eps: float, amplified: float
) -> TensorError | None:
    """Error of one replica's proposal; None where the statistic was not the same before the step."""
    arrays = (left[name], right[name], pair.left.before.statistics[name], pair.right.before.statistics[name])
    first, second, old, other = (np.asarray(array, np.float64) for array in arrays)
    if first.shape != second.shape or old.shape != other.shape or not np.all(np.isfinite(first)):
        return None
    length = float(np.linalg.norm(first) + np.linalg.norm(old) + np.sqrt(np.finfo(np.float32).tiny))
    if norm_error(other, old, length, eps) > MOST_OWN:
        return None
    most = 3 * MOST_OWN + amplified
    roundings = norm_error(second, first, length, eps)
    fact = ""
    if not roundings <= most:
        mix = fit_combination([np.ravel(first), np.ravel(old)], np.ravel(second))
        moved = fit_factor(np.ravel(first - old), np.ravel(second - old))
        fact = f"moves {moved.factor:.6g} x as far as legacy's (residual {moved.residual:.1e}); "
        fact += f"{mix.coefficients[0]:.6g} x legacy's and {mix.coefficients[1]:.4g} x the old, {mix.residual:.1e}"
    return TensorError(stages.STATISTICS, f"{name} as proposed", pair.left.record.step, roundings, most, fact)
