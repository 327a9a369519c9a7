"""The optimizers' updates with the kernels that TensorFlow 1.x's optimizers run, on one replica's variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from modern.mirrored.state.variables import LocalState
from workloads.optimizers import Optimizer
from workloads.program import State


class Tf1Rules:
    """Update rules with identical bits: 1.x's kernels and 1.x's slots.

    Args:
      optimizer: the workload's; its `kernel` says which op updates a weight.
    """

    def __init__(self, optimizer: Optimizer) -> None:
        self._optimizer = optimizer
        self._kernel = optimizer.kernel()
        self._op = getattr(tf.raw_ops, self._kernel.op)

    @property
    def optimizer(self) -> Optimizer:
        """The workload's optimizer."""
        return self._optimizer

    def describe(self) -> str:
        """Returns the report's text."""
        return "tf1: the kernels of tf.compat.v1.train"

    def apply(self, local: LocalState, gradients: dict[str, tf.Tensor], rate: tf.Tensor) -> None:
        """Updates one replica's weights and slots in place.

        Args:
          local: the replica's variables.
          gradients: {weight name: combined gradient}.
          rate: learning rate, a float32 scalar.
        """
        shared = self._shared_arguments(local, next(iter(gradients.values())).dtype, rate)
        for name, gradient in gradients.items():
            slots = {argument: local.slots[f"{name}/{slot}"].handle for slot, argument in self._kernel.slots.items()}
            self._op(var=local.weights[name].handle, **{self._kernel.gradient: gradient}, **slots, **shared)
        for power, base in self._optimizer.accumulators().items():  # each starts at its base and is multiplied by it
            value = local.slots[power].read_value() * tf.constant(base, tf.float32)
            tf.raw_ops.AssignVariableOp(resource=local.slots[power].handle, value=value)

    def load(self, state: State, last_rate: Callable[[], float]) -> None:
        """Does nothing: the mirrored slots, which were loaded already, are 1.x's."""

    def slots(self, state: State, last_rate: Callable[[], float]) -> dict[str, np.ndarray]:
        """Returns the slots of `state`, which are 1.x's already."""
        return state.slots

    def _shared_arguments(self, local: LocalState, dtype: tf.DType, rate: tf.Tensor) -> dict[str, Any]:
        """Returns the op's arguments that are the same for every weight.

        Inside a loop over steps a constant costs as much as a small op, so none is made per weight.
        """
        powers = {
            argument: tf.cast(local.slots[power].read_value(), dtype) for power, argument in self._kernel.powers.items()
        }
        constants = {argument: _constant(value, dtype) for argument, value in self._kernel.constants.items()}
        return {self._kernel.learning_rate: tf.cast(rate, dtype), **powers, **constants, **self._kernel.attributes}


def _constant(value: float, dtype: tf.DType) -> tf.Tensor:
    """1.x holds its constants in float32 and casts them: in a float64 run 0.9 is float32's 0.9."""
    return tf.cast(tf.constant(value, tf.float32), dtype)
