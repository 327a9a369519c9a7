"""`ComparedStep`: one step of both sides, with the states before it."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from parity.comparison.fits import relative_norm
from workloads.program import State, StepRecord

#: Two states are the same if every weight differs by at most this part of its length.
SAME_STATE = 1e-6


@dataclasses.dataclass
class ComparedStep:
    """One step of both sides.

    Attributes:
      left, right: the records.
      left_before, right_before: the states that the sides took the step from.
      locked: whether the right's state was loaded from the left.
    """

    left: StepRecord
    right: StepRecord
    left_before: State
    right_before: State
    locked: bool = False

    @functools.cached_property
    def same_state(self) -> bool:
        """Whether both sides took the step from the same weights, so that losses and gradients can be compared."""
        left, right = self.left_before.weights, self.right_before.weights
        gaps = (relative_norm(np.subtract(right[n], left[n], dtype=np.float64), left[n]) for n in left if n in right)
        return all(gap <= SAME_STATE for gap in gaps)
