"""Learning rates of both sides, step by step. They depend on the step alone, so any trajectory will do."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from parity.diagnosis.stage_checks.observed_updates import learning_rate_of
from parity.diagnosis.steps.compared_step import ComparedStep

#: Two learning rates are equal if they differ by at most this part: a few roundings of float32.
EQUAL = 1e-6


@dataclasses.dataclass(frozen=True)
class LearningRates:
    """The learning rates of both sides.

    Attributes:
      steps: numbers of the steps in which both sides show one learning rate.
      left, right: the learning rates, float64 [steps].
    """

    steps: list[int]
    left: np.ndarray
    right: np.ndarray

    @property
    def equal(self) -> bool:
        """Whether no learning rate differs by more than a few roundings."""
        return bool(np.allclose(self.left, self.right, rtol=EQUAL, atol=0))

    @property
    def ratio(self) -> np.ndarray:
        """right / left, [steps]; NaN where the left's is zero."""
        return self.right / np.where(self.left == 0, np.nan, self.left)

    def explains(self, factor: float, offset: float = 0) -> bool:
        """Tells whether the right's learning rate of step t is the left's of step `factor * t + offset`.

        False also where this cannot be told: all of the left's learning rates that are compared are equal.
        """
        lefts = dict(zip(self.steps, self.left))
        compared = []
        for step, right in zip(self.steps, self.right):
            left = lefts.get(int(np.floor(factor * step + offset + 1e-9)))
            if left is not None:
                compared.append((left, right))
        moved = len({float(left) for left, _ in compared}) > 1
        return moved and all(abs(right - left) <= EQUAL * abs(left) for left, right in compared)


def measure_learning_rates(steps: Sequence[ComparedStep]) -> LearningRates:
    """Returns the learning rates of steps that each side took from its own state.

    A step from a loaded state has that state's step count and would hide a wrong one.
    """
    rows = [(step.left.step, learning_rate_of(step.left), learning_rate_of(step.right)) for step in steps]
    known = [row for row in rows if row[1] is not None and row[2] is not None]
    return LearningRates(
        [n for n, _, _ in known], np.array([a for _, a, _ in known]), np.array([b for _, _, b in known])
    )
