"""Learning-rate schedules as data. Calling one with the step tensor gives the float32 learning rate, in either era.

The formulas are TensorFlow's own (`tf.compat.v1.train.*`), which exist in both; `global_batch` is there for
schedules that count epochs, where the classic fault is to forget the number of towers.

    >>> learning_rate_at(ExponentialDecay(1.0, decay_steps=10, decay_rate=0.5, staircase=True), step=25, global_batch=8)
    0.25
"""

from __future__ import annotations

import abc
import dataclasses
from typing import TYPE_CHECKING, Tuple

import tensorflow as tf

from workloads.support.errors import InputError
from workloads.support.user import user_code

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclasses.dataclass(frozen=True)
class Schedule(abc.ABC):
    """A frozen record that gives each step's learning rate."""

    @abc.abstractmethod
    def __call__(self, step: tf.Tensor, global_batch: int) -> tf.Tensor:
        """Returns the learning rate of a step, a float32 scalar; `step` is an integer scalar tensor."""


@dataclasses.dataclass(frozen=True)
class Fixed(Schedule):
    """The same `rate` at every step."""

    rate: float = 0.01

    def __call__(self, step: tf.Tensor, global_batch: int) -> tf.Tensor:
        return tf.constant(self.rate, tf.float32)


@dataclasses.dataclass(frozen=True)
class ExponentialDecay(Schedule):
    """`rate * decay_rate ** (step / decay_steps)`, the exponent floored if `staircase`."""

    rate: float
    decay_steps: int
    decay_rate: float
    staircase: bool = False

    def __call__(self, step: tf.Tensor, global_batch: int) -> tf.Tensor:
        return tf.compat.v1.train.exponential_decay(self.rate, step, self.decay_steps, self.decay_rate, self.staircase)


@dataclasses.dataclass(frozen=True)
class EpochDecay(Schedule):
    """`ExponentialDecay` every `epochs` epochs; a step counts the examples of *all* towers."""

    rate: float
    epochs: float
    examples_per_epoch: int
    decay_rate: float
    staircase: bool = True

    def __call__(self, step: tf.Tensor, global_batch: int) -> tf.Tensor:
        decay_steps = max(1, int(self.examples_per_epoch / global_batch * self.epochs))
        return ExponentialDecay(self.rate, decay_steps, self.decay_rate, self.staircase)(step, global_batch)


@dataclasses.dataclass(frozen=True)
class PiecewiseConstant(Schedule):
    """`rates[i]` up to and including step `boundaries[i]`; one rate more than boundaries."""

    boundaries: Tuple[int, ...]
    rates: Tuple[float, ...]

    def __call__(self, step: tf.Tensor, global_batch: int) -> tf.Tensor:
        boundaries = [tf.constant(boundary, step.dtype) for boundary in self.boundaries]
        return tf.compat.v1.train.piecewise_constant(step, boundaries, list(self.rates))


def rate_tensor(schedule: Callable[..., tf.Tensor], step: tf.Tensor, global_batch: int) -> tf.Tensor:
    """Calls a schedule and checks what it returns.

    Args:
      schedule: a `Schedule`, or a function like one.
      step: number of the step, an integer scalar tensor.
      global_batch: examples of all replicas together in one step.

    Returns:
      the learning rate, a float32 scalar tensor.

    Raises:
      InputError: the schedule returned something else.
      UserError: a schedule of the user's own raised an exception.
    """
    what = user_code.named("learning_rate", schedule)
    try:
        with user_code.calling("learning_rate", schedule, "a float32 scalar tensor from (step tensor, global batch)"):
            rate = schedule(step, global_batch)
    except (TypeError, ValueError) as error:  # of a schedule in this file, whose fields are nonsense
        raise InputError(f"{what}: got {schedule!r}, {user_code.error_line(error)}") from error
    if not isinstance(rate, tf.Tensor):
        raise InputError(f"{what}: got {rate!r}, must be a float32 scalar tensor, such as tf.constant(0.1, tf.float32)")
    if rate.shape.rank != 0 or rate.dtype != tf.float32:
        raise InputError(f"{what}: got {rate.dtype.name} {rate.shape}, must be a float32 scalar tensor")
    return rate


def learning_rate_at(schedule: Schedule, step: int, global_batch: int) -> float:
    """Evaluates a schedule, whatever graph or session is open.

    Args:
      schedule: a `Schedule`, or a function like one.
      step: number of the step.
      global_batch: examples of all replicas together in one step.

    Returns:
      the learning rate of the step.
    """
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        return float(session.run(rate_tensor(schedule, tf.constant(step, tf.int64), global_batch)))
