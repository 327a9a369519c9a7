"""Fit of the port's losses by legacy's: a factor of the loss, and the penalty of a decay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from parity.diagnosis.evidence import Evidence
    from parity.diagnosis.steps.compared_step import ComparedStep

#: Losses agree if they differ by at most this part: a few roundings of a sum over a batch.
SAME_LOSS = 2e-6


class ShownLosses(NamedTuple):
    """One replica's loss in legacy and in the port, and the penalty that a decay has there."""

    left: float
    right: float
    penalty: float


class LossFit(NamedTuple):
    """The port's loss is `factor` times legacy's plus `in_loss` (0 or 1) times the penalty."""

    factor: float
    in_loss: float


def fit_loss(
    evidence: Evidence, factors: Sequence[float] = (), decay: Mapping[str, Sequence[float]] | None = None
) -> LossFit:
    """Returns the simplest fit of the losses in steps from the same state.

    A factor that no gradient has is not among those to try: it is only reported, see `reported_values`.

    Args:
      evidence: the steps.
      factors: factors to try after 1.
      decay: {weight: one multiple a replica} that the port's gradients add, whose penalty the loss may show or not.

    Returns:
      the first fit that explains every loss; else the one that explains most.
    """
    rows = [row for step in evidence.steps if step.same_state for row in shown_losses(step, decay or {})]
    rows = [row for row in rows if np.isfinite(row.left) and np.isfinite(row.right)]
    tried = [LossFit(1.0, 0.0), *[LossFit(factor, 0.0) for factor in factors if np.isfinite(factor)]]
    if decay:
        tried = [fit for base in tried for fit in (base, LossFit(base.factor, 1.0))]
    gaps = {fit: _gap(rows, fit) for fit in tried}
    clean = [fit for fit in tried if gaps[fit] <= SAME_LOSS]
    return clean[0] if clean else min(tried, key=gaps.__getitem__)


def shown_losses(step: ComparedStep, decay: Mapping[str, Sequence[float]]) -> list[ShownLosses]:
    """Returns both sides' loss of each replica, and the penalty of a decay of {weight: one multiple a replica}."""
    rows = []
    for replica, (left, right) in enumerate(zip(step.left.losses, step.right.losses)):
        penalty = sum(
            values[min(replica, len(values) - 1)] * float(np.sum(np.square(weight, dtype=np.float64))) / 2
            for name, values in decay.items()
            for weight in [step.left_before.weights[name]]
        )
        rows.append(ShownLosses(float(left), float(right), float(penalty)))
    return rows


def _gap(rows: Sequence[ShownLosses], fit: LossFit) -> float:
    gaps = [
        abs(right - fit.factor * left - fit.in_loss * penalty) / max(abs(right), 1e-30) for left, right, penalty in rows
    ]
    return max(gaps, default=0.0)
