"""`GradientLog`: the weights that had a gradient in any compared step."""

from __future__ import annotations

import numpy as np

from parity.coverage.observed_step import ObservedStep
from parity.coverage.visits import RANDOM

#: A weight without a gradient in so many states of random weights has none anywhere.
ENOUGH_RANDOM = 2


class GradientLog:
    """The weights that had a gradient, and the number of states of random weights that were compared."""

    def __init__(self) -> None:
        self._with_gradient: set[str] = set()
        self._random = 0

    def add(self, step: ObservedStep) -> None:
        """Adds a compared step."""
        self._random += step.place.startswith(RANDOM)
        for update in step.updates:
            self._with_gradient |= {name for name, gradient in update.items() if np.any(gradient)}

    @property
    def any(self) -> bool:
        """Whether any weight had a gradient."""
        return bool(self._with_gradient)

    def why_still(self, name: str) -> str:
        """Returns the reason why a weight cannot move, or "" if it might."""
        if name in self._with_gradient or self._random < ENOUGH_RANDOM:
            return ""
        return f"its gradient is zero in every compared step, {self._random} of them at random weights"
