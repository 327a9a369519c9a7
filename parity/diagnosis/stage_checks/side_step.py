"""`SideStep` and `StepPair`: one step of one side, and of both, as the checks of stages read it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from workloads.program import Arrays, State, StepRecord


class SideStep(NamedTuple):
    """One step of one side: its record, and the state that the side took it from."""

    record: StepRecord
    before: State


class StepPair(NamedTuple):
    """One step of both sides.

    Attributes:
      left, right: the sides' steps.
      state_gap: relative distance of the weights before the step; 0 for equal weights.
      history_gap: largest relative distance, in this and all earlier steps, of what slots are made from.
    """

    left: SideStep
    right: SideStep
    state_gap: float
    history_gap: float = 0.0


def pair_steps(left: SideStep, right: SideStep) -> StepPair:
    """Returns the `StepPair` of two sides' steps."""
    return StepPair(left, right, weights_gap(left.before.weights, right.before.weights))


def weights_gap(left: Arrays, right: Arrays) -> float:
    """Returns the largest relative distance of a weight that both sides have.

    A weight that is small beside the others, such as a bias that starts at zero, is measured by a tenth of the others'
    root mean square.
    """
    names = [name for name in left if name in right and np.shape(left[name]) == np.shape(right[name])]
    size = sum(np.size(left[name]) for name in names)
    power = sum(float(np.sum(np.square(np.asarray(left[name], np.float64)))) for name in names)
    usual = 0.1 * np.sqrt(power / size) if size else 0.0
    worst = 0.0
    for name in names:
        a, b = np.asarray(left[name], np.float64), np.asarray(right[name], np.float64)
        if not np.array_equal(a, b):
            gap, whole = float(np.linalg.norm(b - a)), max(float(np.linalg.norm(a)), usual * np.sqrt(a.size))
            share = gap / whole if whole else float("inf")
            worst = max(worst, share if np.isfinite(share) else float("inf"))
    return worst
