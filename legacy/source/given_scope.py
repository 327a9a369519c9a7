"""The scope of a proof: a written function gets given values, and all its changes of statistics are noted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, List, Mapping, Sequence, Tuple

import tensorflow as tf

from legacy.source.made_up_tower import made_up_seed
from workloads.frame import Frame
from workloads.scope import Scope

if TYPE_CHECKING:
    from workloads.initializers import Initializer


class GivenFrame(Frame):
    """Answers a model with given values and random numbers.

    Args:
      values: {variable: tensor}.
      noises: {random stream: tensor}.
      replica: number of the tower.
      replicas: number of towers.
      step: number of the step.

    Attributes:
      asked: the variables that can be trained, in the order in which the model has first asked for them.
    """

    def __init__(
        self,
        values: Mapping[str, tf.Tensor],
        noises: Mapping[str, tf.Tensor],
        replica: int,
        replicas: int,
        step: int,
    ) -> None:
        super().__init__("float32", 0, tf.constant(step, tf.int64), replica, replicas=replicas)
        self._values, self._noises = values, noises
        self.asked: List[str] = []

    def variable(self, name: str, shape: tuple[int, ...], initializer: Initializer, trainable: bool) -> tf.Tensor:
        if tuple(self._values[name].shape) != tuple(shape):
            raise ValueError(f"{name}: {shape} in the source, {self._values[name].shape} in the old program")
        if trainable and name not in self.asked:
            self.asked.append(name)
        return self._values[name]

    def noise(
        self, name: str, shape: tuple[int, ...], kind: str = "uniform", turn: tf.Tensor | None = None
    ) -> tf.Tensor:
        if turn is not None:
            return super().noise(name, shape, kind, turn)
        if name in self._noises:
            return self._noises[name]
        return tf.zeros(shape, tf.uint32 if kind == "integers" else tf.float32)  # of a tower whose results are not used

    def noise_seed(self, name: str) -> tf.Tensor:
        return tf.constant(made_up_seed(name, self.replica))


class GivenScope(Scope):
    """Notes the changes of statistics that a function asks for, also of one that it changes again.

    Args:
      frame: gives the values.
      wholes: [(a tower's part of the data, what all towers have)].

    Attributes:
      changes: (statistic, new value) in the order in which they were asked for; each from the given value.
      asked: see `GivenFrame`.
    """

    def __init__(self, frame: GivenFrame, wholes: Sequence[Tuple[tf.Tensor, tf.Tensor]] = ()) -> None:
        super().__init__(frame)
        self._wholes = wholes
        self.changes: List[Tuple[str, tf.Tensor]] = []
        self.asked = frame.asked

    def of_all(self, value: tf.Tensor) -> tf.Tensor:
        """Returns what all towers have of a tower's part."""
        return next(whole for part, whole in self._wholes if part is value)

    def update(self, name: str, value: Any) -> None:
        self.changes.append((name, value(self._frame.values_given[name]) if callable(value) else value))
