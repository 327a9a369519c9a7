"""Smoothed labels: the trace that label smoothing leaves in the gradient of the logits' biases.

The gradient of the biases of a softmax cross-entropy is the mean of the probabilities less the mean of the labels. Of
labels that are smoothed by s more it differs by `s (c_k / b - 1 / K)`, where c_k of the b examples have class k of K:
whole numbers, to rounding. Where the port smooths less than legacy, or not at all, s is negative. Where the
probabilities are nearly 1 / K, as in a new net, that is nearly a multiple of the gradient itself, and so is what a
temperature, or another loss, changes: there the counts are whole, too, but not to rounding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from parity.comparison.fits import fit_factor, near
from parity.diagnosis.evidence import Evidence, measured_once
from parity.diagnosis.localization.extents import find_extents
from parity.diagnosis.stage_checks.side_step import weights_gap
from parity.diagnosis.steps.compared_step import ComparedStep

#: A count of examples is whole within so many times what rounding makes of it, and never beyond this part of an
#: example; counts are tried up to so many examples.
MOST_ROUNDING, WHOLE, MOST_EXAMPLES = 4.0, 0.02, 4096

#: Gradients show one smoothing if it is the same within this part.
SAME_SMOOTHING = 1e-2

#: A gap that is a multiple of the gradient within so many times its rounding has other explanations.
PARALLEL = 8.0

#: Smoothing is between these bounds.
LEAST, MOST = 1e-4, 0.95


class SmoothedLabels(NamedTuple):
    """Label smoothing that explains a difference of gradients.

    Attributes:
      name: the biases of the logits.
      smoothing: part of each label that the port spreads over all classes more than legacy does; negative for less.
      gradients: number of gradients (replicas and steps) that it explains.
      distinct: whether it is told apart from a factor of the loss: not all gaps are multiples of their gradients.
      side_known: whether the counts tell which side smooths more; those of few examples of few classes may not.
    """

    name: str
    smoothing: float
    gradients: int
    distinct: bool = True
    side_known: bool = True


class _Gap(NamedTuple):
    """One gradient of the biases: the left's, by how much the right's differs, and its rounding."""

    left: np.ndarray
    gap: np.ndarray
    noise: float


@measured_once
def find_smoothed_labels(evidence: Evidence) -> SmoothedLabels | None:
    """Returns the smoothing that explains how the gradient of some biases differs; None if there is no such biases."""
    batch = evidence.context.per_replica_batch
    names = [name for name in find_extents(evidence).gradients.names if np.ndim(evidence.left.weights[name]) == 1]
    steps = [step for step in evidence.steps if weights_gap(step.left_before.weights, step.right_before.weights) == 0]
    for name in names:
        gaps = list(_gaps(steps, name, evidence.eps))
        if gaps and gaps[0].gap.size > 2 and 1 < batch <= MOST_EXAMPLES:
            possible = _signed_smoothings(gaps, batch)
            if possible:
                is_distinct = not all(map(_is_parallel, gaps))
                return SmoothedLabels(name, possible[0], len(gaps), is_distinct, len(possible) == 1)
    return None


def _signed_smoothings(gaps: list[_Gap], batch: int) -> list[float]:
    """The smoothing that explains the gaps, with its sign; both signs where counts of either side are whole.

    Of two, one is left out with which the other side's gradient, of labels that are not smoothed, would be that of no
    probabilities.
    """
    turned = [_Gap(left + gap, -gap, noise) for left, gap, noise in gaps]
    found = []
    for sign, entries in ((1, gaps), (-1, turned)):
        smoothing = _common_smoothing(entries, batch)
        if smoothing is not None:
            found.append((sign * smoothing, all(_has_probabilities(entry, smoothing) for entry in entries)))
    likely = [smoothing for smoothing, has_probabilities in found if has_probabilities]
    return likely or [smoothing for smoothing, _ in found]


def _has_probabilities(entry: _Gap, smoothing: float) -> bool:
    """Whether a gradient of biases and its labels' shares add up to numbers of 0 to 1."""
    probabilities = entry.left + entry.gap / smoothing + 1 / entry.gap.size
    return bool(
        np.all(probabilities > -entry.noise / smoothing) and np.all(probabilities < 1 + entry.noise / smoothing)
    )


def _gaps(steps: Iterable[ComparedStep], name: str, eps: float) -> Iterator[_Gap]:
    """The gradients of each replica in steps from the same bits of the weights."""
    for step in steps:
        if len(step.left.gradients) != len(step.right.gradients):
            continue
        for left, right in zip(step.left.gradients, step.right.gradients):
            if name in left and name in right:
                a, b = np.asarray(left[name], np.float64), np.asarray(right[name], np.float64)
                yield _Gap(a, b - a, 16 * eps * max(1.0, float(np.max(np.abs(a)))))


def _is_parallel(entry: _Gap) -> bool:
    """Whether the gap is a multiple of the gradient, to rounding."""
    fit = fit_factor(entry.left, entry.gap)
    return fit.residual * float(np.linalg.norm(entry.gap)) <= PARALLEL * entry.noise


def _common_smoothing(gaps: list[_Gap], batch: int) -> float | None:
    """The one s for which every difference is `s (counts / batch - 1 / classes)`, or None."""
    _, first, noise = gaps[0]
    if abs(float(first.sum())) > noise * first.size or not float(np.ptp(first)) > 100 * noise:
        return None
    for width in range(1, batch + 1):  # largest count less smallest count
        smoothing = float(np.ptp(first)) * batch / width
        possible = LEAST <= smoothing <= MOST
        if possible and all(_counts_are_whole(entry, smoothing, batch) for entry in gaps):
            return smoothing
    return None


def _counts_are_whole(entry: _Gap, smoothing: float, batch: int) -> bool:
    counts = (entry.gap / smoothing + 1 / entry.gap.size) * batch
    whole = np.rint(counts)
    if MOST_ROUNDING * entry.noise * batch / smoothing > WHOLE or np.any(whole < 0) or whole.sum() != batch:
        return False
    shares = whole / batch - 1 / entry.gap.size
    power = float(shares @ shares)
    fitted = float(shares @ entry.gap) / power if power else smoothing
    rest = float(np.max(np.abs(entry.gap - fitted * shares)))
    return rest <= MOST_ROUNDING * entry.noise and near(fitted, smoothing, SAME_SMOOTHING)
