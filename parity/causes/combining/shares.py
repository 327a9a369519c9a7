"""Shares: whether each replica of the port has 1/N of the loss, by each side's own reduction and by sizes alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from parity.comparison.floats import length

if TYPE_CHECKING:
    from parity.diagnosis.evidence import Evidence
    from workloads.program import StepRecord


def share_of_replicas(evidence: Evidence) -> float | None:
    """Returns 1/N if legacy averages its towers, the port sums its replicas, and these have about 1/N of the loss.

    Gradients that differ otherwise, too, have no common factor. Then losses, and gradients in steps from the same
    state, are nearer to 1/N of legacy's than to all of it.
    """
    if not averages_become_sums(evidence):
        return None
    share = 1 / evidence.replicas
    losses = _ratio(_losses(step.left for step in evidence.steps), _losses(step.right for step in evidence.steps))
    same = [step for step in evidence.steps if step.same_state]
    gradients = _ratio(_lengths(step.left for step in same), _lengths(step.right for step in same))
    known = [ratio for ratio in (losses, gradients) if ratio is not None]
    return share if known and all(ratio < np.sqrt(share) for ratio in known) else None


def averages_become_sums(evidence: Evidence) -> bool:
    """Returns whether each side's own gradients show that legacy averages its towers and the port sums its replicas."""
    left, right = evidence.combined_fits
    if left is None or right is None or right.borrowed or left.first is None or right.first is None:
        return False
    return (left.first.reduce, right.first.reduce) == ("mean", "sum") and left.first not in right.fits


def _losses(records: Iterable[StepRecord]) -> list[float]:
    return [abs(float(loss)) for record in records for loss in record.losses]


def _lengths(records: Iterable[StepRecord]) -> list[float]:
    return [length(gradients.values()) for record in records for gradients in record.gradients]


def _ratio(left: list[float], right: list[float]) -> float | None:
    """The right's mean over the left's, of finite numbers; None where either side has none, or nothing but zeros."""
    means = [
        float(np.mean(kept)) if kept else 0.0 for kept in ([v for v in s if np.isfinite(v)] for s in (left, right))
    ]
    return means[1] / means[0] if all(means) else None
