"""Smoothed labels: the trace that label smoothing leaves in the gradient of the logits' biases.

The gradient of the biases of a softmax cross-entropy is the mean of the probabilities less the mean of the labels. Of
smoothed labels it differs by `s (c_k / b - 1 / K)`, where c_k of the b examples have class k of K: whole numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from parity.diagnosis.evidence import Evidence, measured_once
from parity.diagnosis.localization.deviations import find_deviations

#: A count of examples is whole within this part of an example, and counts are tried up to so many examples.
WHOLE, MOST_EXAMPLES = 0.02, 4096

#: Smoothing is between these bounds.
LEAST, MOST = 1e-4, 0.95


class SmoothedLabels(NamedTuple):
    """Label smoothing that explains a difference of gradients.

    Attributes:
      name: the biases of the logits.
      smoothing: part of each label that is spread over all classes.
      gradients: number of gradients (replicas and steps) that it explains.
    """

    name: str
    smoothing: float
    gradients: int


@measured_once
def find_smoothed_labels(evidence: Evidence) -> SmoothedLabels | None:
    """Returns the smoothing that explains how the gradient of some biases differs; None if there is no such biases."""
    batch = evidence.context.per_replica_batch
    names = [name for name in find_deviations(evidence).gradients.names if np.ndim(evidence.left.weights[name]) == 1]
    for name in names:
        gaps = list(_gaps(evidence, name))
        if gaps and gaps[0][0].size > 2 and 1 < batch <= MOST_EXAMPLES:
            smoothing = _common_smoothing(gaps, batch)
            if smoothing is not None:
                return SmoothedLabels(name, smoothing, len(gaps))
    return None


def _gaps(evidence: Evidence, name: str) -> Iterator[tuple[np.ndarray, float]]:
    """(difference of the gradients, its rounding) of each replica in each step from the same state."""
    for step in evidence.steps:
        if step.same_state and len(step.left.gradients) == len(step.right.gradients):
            for left, right in zip(step.left.gradients, step.right.gradients):
                if name in left and name in right:
                    a, b = np.asarray(left[name], np.float64), np.asarray(right[name], np.float64)
                    yield b - a, 16 * evidence.eps * max(1.0, float(np.max(np.abs(a))))


def _common_smoothing(gaps: list[tuple[np.ndarray, float]], batch: int) -> float | None:
    """The one s for which every difference is `s (counts / batch - 1 / classes)`, or None."""
    first, noise = gaps[0]
    if abs(float(first.sum())) > noise * first.size or not float(np.ptp(first)) > 100 * noise:
        return None
    for width in range(1, batch + 1):  # largest count less smallest count
        smoothing = float(np.ptp(first)) * batch / width
        possible = LEAST <= smoothing <= MOST
        if possible and all(_counts_are_whole(gap, smoothing, batch, rounding) for gap, rounding in gaps):
            return smoothing
    return None


def _counts_are_whole(gap: np.ndarray, smoothing: float, batch: int, noise: float) -> bool:
    counts = (gap / smoothing + 1 / gap.size) * batch
    allowed = noise * batch / smoothing
    if allowed > WHOLE:
        return False
    whole = np.rint(counts)
    return bool(np.all(whole >= 0)) and whole.sum() == batch and float(np.max(np.abs(counts - whole))) <= WHOLE
