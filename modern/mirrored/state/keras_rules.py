"""The optimizers' updates by Keras 3, with the constants and slot values that make it agree with TensorFlow 1.x.

Each replica has a Keras optimizer of its own on its own variables and calls its `update_step`: the gradients
are combined and clipped already, and Keras would reduce (and clip) them once more.

Where Keras cannot agree: its momentum keeps `v = m * v - rate * g` and 1.x `a = m * a + g`, which is the same
path only while the learning rate is constant; and its formulas round differently in the last bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import keras
import numpy as np
import tensorflow as tf

from modern.mirrored.state.variables import LocalState, MirroredState
from workloads import schedules
from workloads.optimizers import KerasClass, Optimizer
from workloads.program import State
from workloads.support.errors import InputError
from workloads.workload import Workload


class KerasRules:
    """Keras 3 optimizers, one per replica, in the place of `tf1_rules.Tf1Rules`.

    Args:
      workload: its optimizer and schedule are followed.
      variables: the mirrored variables.
      replicas: number of replicas.

    Raises:
      InputError: the workload's optimizer has no Keras class.
    """

    def __init__(self, workload: Workload, variables: MirroredState, replicas: int) -> None:
        self._workload = workload
        self._described = keras_class(workload.optimizer)
        self._names = list(variables.weights)
        self._optimizers = []
        for replica in range(replicas):
            local = list(variables.local(replica).weights.values())
            with tf.device(local[0].device):
                optimizer = keras_optimizer(self._described)
                optimizer.build(local)
            self._optimizers.append(optimizer)

    def describe(self) -> str:
        """Returns the report's text, with what cannot agree."""
        text = f"keras {keras.__version__}: {type(self._optimizers[0]).__name__}"
        inside = " and ".join(self._described.rate_inside)
        if inside and not isinstance(self._workload.learning_rate, schedules.Fixed):
            return text + f"; CANNOT agree when the rate changes: Keras keeps the rate inside the {inside}"
        return text + "; agrees to rounding, not in identical bits"

    def apply(self, local: LocalState, gradients: dict[str, tf.Tensor], rate: tf.Tensor) -> None:
        optimizer = self._optimizers[local.replica]
        for name, gradient in gradients.items():
            optimizer.update_step(gradient, local.weights[name], tf.cast(rate, gradient.dtype))
        optimizer.iterations.assign_add(1)

    def load(self, state: State, last_rate: Callable[[], float]) -> None:
        """Gives the Keras slots the values of a `State` in 1.x's terms."""
        rate = last_rate()
        for optimizer in self._optimizers:
            optimizer.iterations.assign(state.step)
            for slot, name, variable in self._slot_variables(optimizer):
                value = state.slots[f"{name}/{slot}"]
                variable.assign(value * -rate if slot in self._described.rate_inside else value)

    def slots(self, state: State, last_rate: Callable[[], float]) -> dict[str, np.ndarray]:
        """Returns the first replica's slots in 1.x's terms: `a = -v / rate`, and Adam's powers from the step."""
        slots, rate = dict(state.slots), last_rate()
        for slot, name, variable in self._slot_variables(self._optimizers[0]):
            value = np.asarray(variable.numpy())
            if slot in self._described.rate_inside:
                value = np.asarray(value / np.asarray(-rate, value.dtype))
            slots[f"{name}/{slot}"] = value
        for power, base in self._workload.optimizer.accumulators().items():
            slots[power] = np.asarray(np.float32(base) ** np.float32(state.step + 1))
        return slots

    def _slot_variables(self, optimizer: keras.optimizers.Optimizer) -> Iterator[tuple[str, str, keras.Variable]]:
        """Yields (slot, weight name, Keras's variable) of every slot."""
        for slot, attribute in self._described.slots.items():
            for name, variable in zip(self._names, getattr(optimizer, attribute)):
                yield slot, name, variable


def keras_class(optimizer: Optimizer) -> KerasClass:
    """Returns the description of the Keras class.

    Raises:
      InputError: the optimizer has none.
    """
    described = optimizer.keras_class()
    if described is None:
        raise InputError(
            f"--update_rules: got 'keras', {type(optimizer).__name__} describes no Keras class; allowed: tf1"
        )
    return described


def keras_optimizer(described: KerasClass) -> keras.optimizers.Optimizer:
    """Returns a new Keras 3 optimizer."""
    return getattr(keras.optimizers, described.name)(**described.arguments)
