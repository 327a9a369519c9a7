"""The function of the batch variance that the right side's moving variances average, where it is not the identity."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from parity.comparison.fits import relative_norm
from parity.diagnosis.evidence import Evidence, measured_once
from workloads.program import State

#: {name in reports: function of the variance}.
TRANSFORMS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "standard deviation": np.sqrt,
    "reciprocal of the standard deviation": lambda variance: 1 / np.sqrt(variance),
}

#: Shares of a batch, 1 - momentum, to try first, and the number of times that the interval around the best is halved.
SHARES = tuple(float(share) for share in np.logspace(-4, 0, 161))
DIVISIONS = 40

#: A transform explains the proposals if it leaves less than this part of what they take in over.
MOST_RESIDUAL = 1e-3


class VarianceTransform(NamedTuple):
    """A function of the variance, as `TRANSFORMS` names it, in the place of the variance.

    Attributes:
      name: of the function.
      share: part of it that a moving variance takes in, 1 - momentum.
      statistics: the moving variances.
      residual: part of what they take in that is left over.
    """

    name: str
    share: float
    statistics: tuple[str, ...]
    residual: float


class _Proposal(NamedTuple):
    """One moving variance: its old value, and what each side proposes."""

    statistic: str
    old: np.ndarray
    left: np.ndarray
    right: np.ndarray


@measured_once
def fit_variance_transform(evidence: Evidence) -> VarianceTransform | None:
    """Returns the function of the variance that explains all moving variances that differ; None if none does."""
    differing = [row for row in _proposals(evidence) if _differs(row, evidence.clean_residual)]
    fits = [_fit(name, differing) for name in TRANSFORMS] if differing else []
    best = min(fits, key=lambda fit: fit.residual, default=None)
    return best if best is not None and best.residual <= MOST_RESIDUAL else None


def _proposals(evidence: Evidence) -> Iterator[_Proposal]:
    for step in evidence.steps:
        if not step.same_state or len(step.left.proposals) != len(step.right.proposals):
            continue
        for left, right in zip(step.left.proposals, step.right.proposals):
            for name in left:
                if "var" in name.lower() and name in right and _same_old(name, step.left_before, step.right_before):
                    values = (step.left_before.statistics[name], left[name], right[name])
                    yield _Proposal(name, *(np.asarray(value, np.float64) for value in values))


def _same_old(name: str, left: State, right: State) -> bool:
    return np.array_equal(left.statistics[name], right.statistics[name])


def _differs(row: _Proposal, tolerance: float) -> bool:
    return not relative_norm(row.right - row.left, row.left - row.old) <= tolerance


def _fit(name: str, rows: list[_Proposal]) -> VarianceTransform:
    """Fits the share to the first proposal: a share that explains all explains this one."""
    transform, first = TRANSFORMS[name], rows[0]
    found = [_residual(first, transform, share) for share in SHARES]
    best = int(np.argmin(found))
    low, high = SHARES[max(0, best - 1)], SHARES[min(len(SHARES) - 1, best + 1)]
    for _ in range(DIVISIONS):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, b) if _residual(first, transform, a) <= _residual(first, transform, b) else (a, high)
    share = (low + high) / 2
    names = tuple(sorted({row.statistic for row in rows}))
    return VarianceTransform(name, share, names, max(_residual(row, transform, share) for row in rows))


def _residual(row: _Proposal, transform: Callable[[np.ndarray], np.ndarray], share: float) -> float:
    """Part of what the right takes in that the transform leaves over; infinity where it gives no number."""
    variance = row.old + (row.left - row.old) / share
    with np.errstate(all="ignore"):
        taken = (transform(variance) - row.old) * share
    gap = relative_norm(row.right - row.old - taken, row.right - row.old)
    return gap if np.isfinite(gap) else float("inf")
