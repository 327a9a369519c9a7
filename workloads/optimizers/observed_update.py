"""`ObservedUpdate`: one update step of one side in numbers, from which an optimizer's formulas are tried."""

from __future__ import annotations

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class ObservedUpdate:
    """One step that one side took. Vectors hold all weights' elements, float64, one weight after the other.

    Attributes:
      step: number of the step, from 0.
      learning_rate: the step's learning rate.
      names, sizes, shapes: of the weights, in the order in which the vectors hold them.
      gradient: vector; the combined gradient that the optimizer got.
      weights: vector; the weights before the step.
      change: vector; the weights after the step minus the weights before it.
      old, new: {slot name: vector} before and after the step.
      powers: values of the optimizer's accumulators before the step, in the order of `Optimizer.accumulators`; empty
        where the records do not hold them.
    """

    step: int
    learning_rate: float
    names: list[str]
    sizes: list[int]
    shapes: list[tuple[int, ...]]
    gradient: np.ndarray
    weights: np.ndarray
    change: np.ndarray
    old: dict[str, np.ndarray]
    new: dict[str, np.ndarray]
    powers: list[float]

    def parts(self) -> list[tuple[str, slice]]:
        """Returns (weight name, its slice of the vectors) of every weight."""
        ends = np.cumsum(self.sizes)
        return [(name, slice(end - size, end)) for name, size, end in zip(self.names, self.sizes, ends)]
