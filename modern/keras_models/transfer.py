"""Transfer of a trained state into a compiled Keras model, whose variables are matched with the job's."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import keras
import numpy as np

from modern.keras_models.optimizer_state import OptimizerState
from workloads.optimizers import KerasClass
from workloads.program import Arrays
from workloads.support.errors import InputError, require

#: Constants of two optimizers are the same if they differ by no more than this part.
SAME_CONSTANT = 1e-6


@dataclasses.dataclass(frozen=True)
class Transfer:
    """A state to be given to a model.

    Attributes:
      values: {name: array} of weights and statistics.
      optimizer: the optimizer's state.
      rate: learning rate of the next step.
      names: {path of the model's variable: the job's name}.
    """

    values: Arrays
    optimizer: OptimizerState
    rate: float
    names: Mapping[str, str]

    def apply(self, model: keras.Model) -> None:
        """Gives a model the weights, the statistics, the slots, the number of steps and the learning rate.

        Raises:
          InputError: something has no counterpart.
        """
        described = self.keras_class()
        check_optimizer(model.optimizer, described)
        for variable in model.weights:
            variable.assign(self.values[self.names[variable.path]])
        optimizer = model.optimizer
        if not optimizer.built:
            optimizer.build(model.trainable_variables)
        for slot, attribute in described.slots.items():
            found = getattr(optimizer, attribute, [])
            require(len(found) == len(model.trainable_variables), "--export_keras", attribute, "no such slots")
            for variable, weight in zip(found, model.trainable_variables):
                variable.assign(self.slot(slot, self.names[weight.path]))
        optimizer.iterations.assign(self.optimizer.iterations)
        self._set_rate(optimizer)

    def keras_class(self) -> KerasClass:
        """Returns the description of the Keras class.

        Raises:
          InputError: the optimizer has none, or a slot without a counterpart.
        """
        optimizer = self.optimizer.optimizer
        described = optimizer.keras_class()
        kind = type(optimizer).__name__
        if described is None:
            raise InputError(f"--export_keras: {kind} has no Keras class that agrees with TensorFlow 1.x's")
        lacking = [slot for slot in optimizer.slots() if slot not in described.slots]
        if lacking:
            raise InputError(f"--export_keras: the slot {lacking[0]!r} of {kind} has no counterpart in Keras")
        return described

    def slot(self, slot: str, weight: str) -> np.ndarray:
        """Returns the value of a slot in Keras's terms: some hold 1.x's times minus the learning rate."""
        return in_keras_terms(self.keras_class(), slot, self.optimizer.slots[weight][slot], self.rate)

    def weights(self, model: keras.Model) -> list[str]:
        """Returns the job's names of a model's trainable variables, in their order."""
        return [self.names[variable.path] for variable in model.trainable_variables]

    def _set_rate(self, optimizer: keras.optimizers.Optimizer) -> None:
        scheduled = isinstance(optimizer._learning_rate, keras.optimizers.schedules.LearningRateSchedule)
        if not scheduled:
            optimizer.learning_rate = self.rate
            return
        found = float(keras.ops.convert_to_numpy(optimizer.learning_rate))
        allowed = f"the next step's is {self.rate:.9g}, at iterations={self.optimizer.iterations}"
        same = abs(found - self.rate) <= SAME_CONSTANT * self.rate
        require(same, "--export_keras", f"learning rate {found:.9g}", allowed)


def in_keras_terms(described: KerasClass, slot: str, value: np.ndarray, rate: float) -> np.ndarray:
    """Returns a slot's value as Keras keeps it.

    Args:
      described: the Keras class.
      slot: its name in 1.x.
      value: its value there.
      rate: learning rate of the step.

    Returns:
      the value; minus the learning rate times it, for a slot that has the rate inside.
    """
    return np.asarray(value * np.asarray(-rate, value.dtype)) if slot in described.rate_inside else value


def check_optimizer(optimizer: keras.optimizers.Optimizer | None, described: KerasClass) -> None:
    """Raises `InputError` unless a model's optimizer is the one that agrees with 1.x, with its constants."""
    if optimizer is None:
        raise InputError(f"--export_keras: the model is not compiled with keras.optimizers.{described.name}")
    kind = type(optimizer).__name__
    require(kind == described.name, "--export_keras", kind, f"the optimizer must be keras.optimizers.{described.name}")
    config = optimizer.get_config()
    for name, value in described.arguments.items():
        found = config.get(name)
        same = found == value
        if isinstance(value, float) and isinstance(found, (int, float)):
            same = abs(found - value) <= SAME_CONSTANT * max(abs(value), 1e-30)
        require(same, "--export_keras", f"{name}={found}", f"{described.name} must have {name}={value}")
