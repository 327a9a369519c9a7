"""The learning rates of both sides, step by step. They depend on the step alone, so any trajectory will do."""

from __future__ import annotations

import dataclasses
from typing import List

import numpy as np


@dataclasses.dataclass(frozen=True)
class LearningRates:
    """Attributes:
    steps: numbers of the steps that both sides gave a rate for.
    left, right: the rates.
    """

    steps: List[int]
    left: np.ndarray
    right: np.ndarray

    @property
    def equal(self):
        """Whether no rate differs by more than a few roundings."""
        return bool(np.allclose(self.left, self.right, rtol=1e-6, atol=0))

    @property
    def ratio(self):
        """right / left, one a step."""
        return self.right / np.where(self.left == 0, np.nan, self.left)

    def explains(self, factor, offset=0):
        """Whether the right's rate of step t is the left's of step `factor * t + offset`, and this can be told.

        Told means: at least two of the right's rates differ, or the left's do where the right's stands still.
        """
        lefts = dict(zip(self.steps, self.left))
        pairs = [(lefts.get(int(np.floor(factor * t + offset + 1e-9))), r) for t, r in zip(self.steps, self.right)]
        pairs = [(a, b) for a, b in pairs if a is not None]
        moved = len({float(a) for a, _ in pairs}) > 1
        return moved and all(abs(b - a) <= 1e-6 * abs(a) for a, b in pairs)


def measure_learning_rates(steps):
    """`LearningRates` of the steps that are part of the free run: a step from a loaded state has the state's step count."""
    rows = [(step.left.step, learning_rate_of(step.left), learning_rate_of(step.right)) for step in steps]
    known = [row for row in rows if row[1] is not None and row[2] is not None]
    return LearningRates(
        [n for n, _, _ in known], np.array([a for _, a, _ in known]), np.array([b for _, _, b in known])
    )


def learning_rate_of(record):
    """The one learning rate of a step as a float; None if it shows none, or (a lift) several."""
    values = np.ravel([] if record.learning_rate is None else record.learning_rate)
    return float(values[0]) if values.size and np.all(values == values[0]) else None
