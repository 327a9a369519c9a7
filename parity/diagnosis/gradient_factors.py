"""Gradient factors: the data's factor and the multiples of the weights, within replicas and with their reduction."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from parity.comparison.fits import largest, near, spread
from parity.diagnosis.combined_gradients import CombinedFit
from parity.diagnosis.facts.replica_gradients import DataAndDecayFit, ReplicaGradient, fit_factor_and_decay
from workloads.program import Arrays

if TYPE_CHECKING:
    from parity.diagnosis.evidence import Evidence

#: The data's factor is one factor if replicas and steps agree on it to this part.
ONE_FACTOR = 1e-4

#: The multiples of a weight are one number if the steps' spread over less than this part of the largest.
ONE_MULTIPLE = 0.5

#: Roundings of a gradient: of its own length, and of the length of all weights' gradients.
OWN_ROUNDINGS, WHOLE_ROUNDINGS = 50.0, 8.0


@dataclasses.dataclass(frozen=True)
class GradientFactors:
    """Factors by which the right's gradients differ from the left's.

    Attributes:
      replica: factor of the data's gradient within a replica, the same for all; NaN if it is not known.
      reduction: the right's weight in `weight * sum of replicas` over the left's; 1 if both do the same.
      total: `replica * reduction`.
      decay: {weight: one number a replica: the multiple of the weight that the right adds, times `reduction`}.
      residual: largest residual of the fits these come from.
      replicas_shown: whether the right shows its replicas' gradients; if not, only `total` is known.
      steps: number of steps from the same state that were fitted.
    """

    replica: float
    reduction: float
    total: float
    decay: dict[str, list[float]]
    residual: float
    replicas_shown: bool
    steps: int


def fit_gradient_factors(evidence: Evidence) -> GradientFactors | None:
    """Returns the factors, or None if no step from the same state has gradients that one factor and a decay explain."""
    if not evidence.gradients:
        return _factors_of_combined(evidence)
    if any(not np.isfinite(entry.data) and _is_broken(evidence, entry) for entry in evidence.gradients):
        return None  # what the other gradients have in common does not explain a gradient that is not finite
    found = [entry for entry in evidence.gradients if np.isfinite(entry.data)]  # no gradient at all has no factor
    if not found:
        return None
    residual = largest(entry.residual for entry in found)
    factors = [entry.data for entry in found]
    if not residual <= 4 * evidence.clean_residual or spread(factors) > ONE_FACTOR:
        return None
    factor = float(np.median(factors))
    reduction = _reduction_ratio(evidence, factor)
    return GradientFactors(
        replica=factor,
        reduction=reduction,
        total=factor * reduction,
        decay=_significant_decay(evidence, found, reduction),
        residual=residual,
        replicas_shown=True,
        steps=len({entry.step for entry in found}),
    )


def _is_broken(evidence: Evidence, entry: ReplicaGradient) -> bool:
    """Whether the right's gradient has values that are not finite where the left's are."""
    step = next(step for step in evidence.steps if step.left.step == entry.step)
    left, right = step.left.gradients[entry.replica], step.right.gradients[entry.replica]
    return any(bool(np.any(np.isfinite(left[name]) & ~np.isfinite(right[name]))) for name in entry.tensors)


def reduction_weights(fit: CombinedFit | None, replicas: int) -> list[float]:
    """Returns the possible k of "k times the sum of the replicas' gradients", before any clipping.

    Empty where it is not known, as where the combined gradients are zero. Several forms may explain a side: 1 for a
    sum, 1 / `replicas` for a mean.
    """
    if fit is None:
        return []
    if fit.fits:
        return list(dict.fromkeys(1.0 if form.reduce == "sum" else 1.0 / replicas for form in fit.fits))
    return [fit.weight] if np.isfinite(fit.weight) and fit.weight else []


def factor_names(factor: float, replicas: int, global_batch: int) -> list[str]:
    """Returns the names of the job's numbers that a factor is: "N", "1/N", "B", "b", ...

    Args:
      factor: a fitted factor.
      replicas: N; 0 if not known.
      global_batch: B, examples of one step; 0 if not known. b is the per-replica batch.

    Returns:
      all names of numbers other than 1 that are near; several where the numbers are equal.
    """
    batch = global_batch // replicas if replicas else 0
    numbers = {
        "N": replicas,
        "1/N": _inverse(replicas),
        "B": global_batch,
        "b": batch,
        "1/b": _inverse(batch),
        "1/B": _inverse(global_batch),
        "N^2": replicas**2,
        "1/N^2": _inverse(replicas**2),
    }
    return [name for name, number in numbers.items() if number and number != 1 and near(factor, number, ONE_FACTOR)]


def _inverse(number: int) -> float:
    return 1 / number if number else 0.0


def _reduction_ratio(evidence: Evidence, factor: float) -> float:
    """The right's weight over the left's. Where clipping hides which it was, the one that explains the most.

    So it does where the right's combined gradients follow no form that is known: they may be made of a sum or a mean.
    """
    left, right = (reduction_weights(side, evidence.replicas) for side in evidence.combined_fits)
    if not right and evidence.combined_fits[1] is not None and evidence.replicas:
        right = [1.0 / evidence.replicas, 1.0]
    ratios = [weight / left[0] for weight in right] if left else []
    return min(ratios, key=lambda ratio: abs(np.log(abs(ratio * factor) or 1e-300)), default=1.0)


def _significant_decay(
    evidence: Evidence, found: Sequence[ReplicaGradient], reduction: float
) -> dict[str, list[float]]:
    """Multiples of the weights that are more than a fit's noise, {weight: one number a replica}, median over steps.

    A decay is one number: where the multiples of a replica's steps have none in common, they are a fit of rounding.
    """
    replicas = sorted({entry.replica for entry in found})
    decay = {}
    for name in {name for entry in found for name in entry.decay}:
        rows = [[e.decay.get(name, 0.0) for e in found if e.replica == replica] for replica in replicas]
        values, noise = [float(np.median(row)) * reduction for row in rows], decay_noise(evidence, name)
        if max(abs(value) for value in values) > noise and all(_is_one_multiple(row, noise) for row in rows):
            decay[name] = values
    return decay


def _is_one_multiple(values: Sequence[float], noise: float) -> bool:
    return bool(np.ptp(values) <= max(2 * noise, ONE_MULTIPLE * float(np.max(np.abs(values)))))


def decay_noise(evidence: Evidence, name: str) -> float:
    """Returns the multiple of a weight that is as long as the rounding of its gradient, median over the steps.

    Rounding is relative to a gradient's own length, and to the whole gradient's: that of a bias before a normalization
    is nothing else, and beside a bias that only rounding has moved it would be a large multiple. Infinite for a weight
    that is zero in every step from the same state.
    """
    found = []
    for step in evidence.steps:
        size = _norm(step.left_before.weights, name)
        if step.same_state and step.left.gradients and size:
            own = max(_norm(gradients, name) for gradients in step.left.gradients)
            whole = max(float(np.linalg.norm([_norm(g, n) for n in g])) for g in step.left.gradients)
            found.append(evidence.eps * (OWN_ROUNDINGS * own + WHOLE_ROUNDINGS * whole) / size)
    return float(np.median(found)) if found else float("inf")


def _norm(arrays: Arrays, name: str) -> float:
    return float(np.linalg.norm(np.asarray(arrays[name], np.float64)))


def _factors_of_combined(evidence: Evidence) -> GradientFactors | None:
    """The factors where the right shows no replicas' gradients: of the combined gradients that neither side clipped."""
    left, right = evidence.combined_fits
    if right is None or left is None or not right.borrowed:
        return None
    ratio = _reduction_ratio(evidence, 1.0) if right.fits or np.isfinite(right.weight) else float("nan")
    if np.isfinite(ratio):
        return _total_only(ratio, {}, right.noise, right.steps)
    fits = _fit_combined(evidence)
    if not fits or largest(fit.residual for fit in fits) > 4 * evidence.clean_residual:
        return None
    decay = {name: float(np.median([fit.decay[name] for fit in fits])) for name in fits[0].decay}
    most = max([abs(value) for value in decay.values()] or [0.0])
    return _total_only(
        float(np.median([fit.data for fit in fits])),
        {name: [value] for name, value in decay.items() if abs(value) > 1e-3 * most},
        largest(fit.residual for fit in fits),
        len(fits),
    )


def _fit_combined(evidence: Evidence) -> list[DataAndDecayFit]:
    """Fits of the right's combined gradients by the left's and the weights, in steps from the same state."""
    fits = []
    for step in evidence.steps:
        left, right = step.left.combined, step.right.combined
        if step.same_state and left and right:
            fits.append(fit_factor_and_decay(left, right, step.left_before.weights, sorted(set(left) & set(right))))
    return fits


def _total_only(total: float, decay: dict[str, list[float]], residual: float, steps: int) -> GradientFactors:
    unknown = float("nan")
    return GradientFactors(unknown, unknown, total, decay, residual, False, steps)
