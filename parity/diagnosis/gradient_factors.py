"""The factors by which the right's gradient differs: of the data's part and of the decay's, in replicas and in all."""

from __future__ import annotations

import dataclasses
from typing import Dict, List

import numpy as np

from parity.comparison.fits import near, spread
from parity.diagnosis import gradients


@dataclasses.dataclass(frozen=True)
class GradientFactors:
    """Attributes:
    replica: factor of the data's gradient within a replica, the same for all; not-a-number if it is not one factor.
    reduction: the right's weight in `weight * sum of replicas` over the left's; 1 if both do the same.
    total: `replica * reduction`.
    decay: {weight: one number a replica, what is added to its gradient per unit of the weight, times `reduction`}.
    residual: largest residual of the fits these come from.
    replicas_shown: whether the right shows its replicas' gradients; if not, only `total` is known.
    steps: how many steps from the same state were fitted.
    """

    replica: float
    reduction: float
    total: float
    decay: Dict[str, List[float]]
    residual: float
    replicas_shown: bool
    steps: int


def fit_gradient_factors(evidence):
    """`GradientFactors`, or None if no step from the same state shows gradients that one factor and a decay explain."""
    if not evidence.gradients:
        return _from_combined(evidence)
    found = [entry for entry in evidence.gradients if np.isfinite(entry.data)]  # no gradient at all has no factor
    if not found:
        return None
    residual = max(entry.residual for entry in found)
    factors = [entry.data for entry in found]
    if not residual <= 4 * evidence.clean_residual or spread(factors) > 1e-4:
        return None
    factor = float(np.median(factors))
    reduction = _reduction(evidence, factor)
    return GradientFactors(
        factor,
        reduction,
        factor * reduction,
        _significant(evidence, found, reduction),
        residual,
        True,
        len({entry.step for entry in found}),
    )


def reduction_weights(side, replicas):
    """Possible k of "k times the sum of the replicas' gradients", before any clipping; none if unknown."""
    if side is None:
        return []
    if side.fits:
        return list(dict.fromkeys(1.0 if form.reduce == "sum" else 1.0 / replicas for form in side.fits))
    return [side.weight] if np.isfinite(side.weight) else []


def _reduction(evidence, factor):
    """The right's weight over the left's. Where clipping hides which it was, the one that explains the most."""
    left, right = (reduction_weights(side, evidence.replicas) for side in evidence.combined_fits)
    ratios = [b / left[0] for b in right] if left else []
    return min(ratios, key=lambda ratio: abs(np.log(abs(ratio * factor) or 1e-300)), default=1.0)


def _significant(evidence, found, reduction):
    """Decays that are more than a fit's noise, {weight: one number a replica}, median over steps."""
    replicas = sorted({entry.replica for entry in found})
    decay = {}
    for name in {name for entry in found for name in entry.decay}:
        rows = [[e.decay.get(name, 0.0) for e in found if e.replica == replica] for replica in replicas]
        values = [float(np.median(row)) * reduction for row in rows]
        size = np.linalg.norm(np.asarray(evidence.steps[0].left_before.weights[name], np.float64)) or 1.0
        noise = 50 * evidence.eps * max(_norm(g, name) for s in evidence.steps for g in s.left.gradients) / size
        if max(abs(value) for value in values) > noise:
            decay[name] = values
    return decay


def _norm(gradient, name):
    return float(np.linalg.norm(np.asarray(gradient[name], np.float64)))


def _from_combined(evidence):
    """From what the optimizers got, where neither side clipped it and only that is shown."""
    left, right = evidence.combined_fits
    if right is None or left is None or not right.borrowed:
        return None
    ratio = _reduction(evidence, 1.0) if right.fits or np.isfinite(right.weight) else float("nan")
    if np.isfinite(ratio):
        return GradientFactors(float("nan"), float("nan"), ratio, {}, right.noise, False, right.steps)
    rows = []
    for step in evidence.steps:
        if step.same_state and step.left.combined and step.right.combined:
            names = sorted(set(step.left.combined) & set(step.right.combined))
            rows.append(
                gradients.fit_factor_and_decay(step.left.combined, step.right.combined, step.left_before.weights, names)
            )
    if not rows or max(row[2] for row in rows) > 4 * evidence.clean_residual:
        return None
    decay = {name: [float(np.median([row[1][name] for row in rows]))] for name in rows[0][1]}
    big = max([abs(values[0]) for values in decay.values()] or [0.0])
    decay = {name: values for name, values in decay.items() if abs(values[0]) > 1e-3 * big}
    factor = float(np.median([row[0] for row in rows]))
    return GradientFactors(float("nan"), float("nan"), factor, decay, max(row[2] for row in rows), False, len(rows))


def factor_names(factor, replicas, global_batch):
    """Names of the numbers a factor may be: "N", "1/N", "B", ...; those of one value share a place."""
    batch = global_batch // replicas if replicas else 0
    numbers = {
        "N": replicas,
        "1/N": 1 / replicas if replicas else 0,
        "B": global_batch,
        "b": batch,
        "1/b": 1 / batch if batch else 0,
        "1/B": 1 / global_batch if global_batch else 0,
        "N^2": replicas**2,
        "1/N^2": 1 / replicas**2 if replicas else 0,
    }
    return [name for name, number in numbers.items() if number and number != 1 and near(factor, number, 1e-4)]
