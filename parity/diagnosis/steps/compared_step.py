"""`ComparedStep`: one step of both sides, with the states before it."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from parity.comparison.fits import relative_norm
from parity.comparison.sparse_gradients import with_dense_gradients
from workloads.program import State, StepRecord

#: Two states are the same if every weight differs by at most so many roundings of its length.
SAME_ROUNDINGS = 8


@dataclasses.dataclass
class ComparedStep:
    """One step of both sides.

    Attributes:
      left, right: the records; sparse gradients are made dense, and a loss of each example is summed.
      left_before, right_before: the states that the sides took the step from.
      locked: whether the right's state was loaded from the left.
    """

    left: StepRecord
    right: StepRecord
    left_before: State
    right_before: State
    locked: bool = False

    def __post_init__(self) -> None:
        self.left, self.right = (_with_summed_losses(with_dense_gradients(r)) for r in (self.left, self.right))

    @functools.cached_property
    def same_state(self) -> bool:
        """Whether both sides took the step from the same weights, so that losses and gradients can be compared."""
        left, right = self.left_before.weights, self.right_before.weights
        return all(_are_same(left[name], right[name]) for name in left if name in right)


def _with_summed_losses(record: StepRecord) -> StepRecord:
    """Returns a record whose losses are scalars: of a vector the sum, whose derivative its gradients are."""
    if all(np.ndim(loss) == 0 for loss in record.losses):
        return record
    return dataclasses.replace(record, losses=[np.sum(loss) for loss in record.losses])


def _are_same(left: np.ndarray, right: np.ndarray) -> bool:
    dtype = np.asarray(left).dtype
    eps = float(np.finfo(dtype if dtype.kind == "f" else np.float32).eps)
    return relative_norm(np.subtract(right, left, dtype=np.float64), left) <= SAME_ROUNDINGS * eps
