"""Penalties: the difference of two gradients of one weight as a sum of terms that penalties of the weight make."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from parity.comparison.fits import fit_combination, spread
from parity.diagnosis.evidence import Evidence, measured_once
from parity.diagnosis.localization.extents import find_extents

#: A fit explains the difference if it leaves less than this part over, besides rounding.
MOST_RESIDUAL = 1e-2

#: The multiples of all replicas and steps are one number within this part.
SAME_MULTIPLE = 2e-2


class PenaltyChange(NamedTuple):
    """Terms that the right side adds to one weight's gradient: `l2 * weight + l1 * sign(weight)`.

    Attributes:
      l2: multiple of the weight.
      l1: multiple of its sign.
    """

    l2: float
    l1: float


@measured_once
def fit_penalty_changes(evidence: Evidence) -> dict[str, PenaltyChange]:
    """Returns {weight: the terms that are added to its gradient on the right}.

    Only weights whose gradients differ, and whose difference these terms explain with the same multiples in every
    replica and step from the same state.
    """
    found: dict[str, PenaltyChange] = {}
    for name in find_extents(evidence).gradients.names:
        rows = [fit for fit in _fits(evidence, name)]
        if not rows or any(row is None for row in rows):
            continue
        values = np.array([row for row in rows if row is not None])
        scale = float(np.max(np.abs(values)))
        if scale and all(float(np.ptp(column)) <= SAME_MULTIPLE * scale for column in values.T):
            l2, l1 = (float(np.median(column)) for column in values.T)
            found[name] = PenaltyChange(l2, l1)
    return found


def _fits(evidence: Evidence, name: str) -> list[PenaltyChange | None]:
    """One fit a replica and step; None where the terms do not explain the difference."""
    fits: list[PenaltyChange | None] = []
    for step in evidence.steps:
        if not step.same_state or len(step.left.gradients) != len(step.right.gradients):
            continue
        weight = np.asarray(step.left_before.weights[name], np.float64).ravel()
        for left, right in zip(step.left.gradients, step.right.gradients):
            if name not in left or name not in right:
                return [None]
            a, b = (np.asarray(gradient[name], np.float64).ravel() for gradient in (left, right))
            if a.shape != b.shape or a.shape != weight.shape:
                return [None]
            fits.append(_fit(a, b, weight, evidence.eps))
    return fits


def _fit(left: np.ndarray, right: np.ndarray, weight: np.ndarray, eps: float) -> PenaltyChange | None:
    gap = right - left
    basis = [weight, np.sign(weight)]
    if np.unique(np.abs(weight)).size < 3:  # of equal magnitudes the sign is a multiple of the weight
        return None
    fit = fit_combination(basis, gap)
    rounding = 8 * eps * float(np.linalg.norm(left) + np.linalg.norm(right))
    left_over = fit.residual * float(np.linalg.norm(gap))
    if not left_over <= MOST_RESIDUAL * float(np.linalg.norm(gap)) + rounding:
        return None
    return PenaltyChange(*(float(value) for value in fit.coefficients))


def same_multiple(values: list[float]) -> bool:
    """Returns whether the multiples are one number."""
    return bool(values) and spread(values) <= SAME_MULTIPLE
