"""`UpdateRules`: the interface of the classes that apply an optimizer's updates to one replica's variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import tensorflow as tf

from workloads.program import Arrays, State

if TYPE_CHECKING:
    from modern.mirrored.state.variables import LocalState


class UpdateRules(Protocol):
    """Updates of weights and slots. `tf1_rules.Tf1Rules` and `keras_rules.KerasRules` have this interface."""

    def describe(self) -> str:
        """Returns text for the report."""

    def apply(self, local: LocalState, gradients: dict[str, tf.Tensor], rate: tf.Tensor) -> None:
        """Updates one replica's weights and slots in place.

        Args:
          local: the replica's variables.
          gradients: {weight name: combined gradient}.
          rate: learning rate, a float32 scalar.
        """

    def load(self, state: State, last_rate: Callable[[], float]) -> None:
        """Takes over the slots of a loaded `State`; `last_rate()` is the learning rate of the step before it."""

    def slots(self, state: State, last_rate: Callable[[], float]) -> Arrays:
        """Returns the slots in 1.x's terms; `state` has the mirrored variables' values, `last_rate` is as in `load`."""
