"""`ObservedUpdate`: one update step of one side in numbers, from which an optimizer's formulas are tried."""

from __future__ import annotations

import dataclasses
from typing import Dict, Optional

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
      previous: the same side's step before this one; None for the first. Other libraries' rules have slots that 1.x's
        have not, whose values follow from the steps so far.
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
    previous: Optional[ObservedUpdate] = None
    _history: Dict[str, np.ndarray] = dataclasses.field(default_factory=dict, repr=False, compare=False)

    def largest(self, slot: str) -> np.ndarray:
        """Returns the elementwise maximum of a slot's values after this and all earlier steps, as AMSGrad keeps it."""
        key = "largest " + slot
        if key not in self._history:
            new = self.new[slot]
            self._history[key] = new if self.previous is None else np.maximum(new, self.previous.largest(slot))
        return self._history[key]

    def mean_gradient(self, decay: float) -> np.ndarray:
        """Returns the moving average of the gradients, zero before the first step, as centered RMSProp keeps it."""
        key = f"mean {decay!r}"
        if key not in self._history:
            old = 0.0 if self.previous is None else decay * self.previous.mean_gradient(decay)
            self._history[key] = old + (1.0 - decay) * self.gradient
        return self._history[key]

    def parts(self) -> list[tuple[str, slice]]:
        """Returns (weight name, its slice of the vectors) of every weight."""
        ends = np.cumsum(self.sizes)
        return [(name, slice(end - size, end)) for name, size, end in zip(self.names, self.sizes, ends)]
