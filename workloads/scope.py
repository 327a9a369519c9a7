"""`Scope`: the object from which a model asks for its variables by name, and to which it reports more than its loss.

A model sees one `Scope` class on both sides of a comparison; the `Frame` behind it decides where variables come from.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, ContextManager, Tuple, Union

import tensorflow as tf

from workloads import initializers, model_checks, taps
from workloads.frame import COMMON, Frame, Tensors
from workloads.support.errors import InputError, require

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["Scope", "Tensors"]

#: Sizes of a tensor: numbers, or an int32 vector that the model computes.
Sizes = Union["Iterable[int]", tf.Tensor]


class Scope:
    """A place in the model's name space, in front of a `Frame`."""

    def __init__(self, frame: Frame, prefix: str = "") -> None:
        self._frame = frame
        self._prefix = prefix

    @property
    def dtype(self) -> str:
        """Name of the float dtype that variables and float inputs have."""
        return self._frame.dtype

    @property
    def training(self) -> bool:
        """Whether the model is trained: when it is evaluated, nothing is dropped and moving statistics are used."""
        return self._frame.training

    @property
    def replica(self) -> int:
        """Number of the replica, over all processes: for a loss that has a term on one replica only."""
        return self._frame.replica

    @property
    def replicas(self) -> int:
        """Number of replicas, over all processes: for a loss divided by it, or with a term on the last one only."""
        return self._frame.replicas

    @property
    def step(self) -> tf.Tensor:
        """Number of the step, an int64 scalar: for a loss that changes while training, as a penalty that grows."""
        return self._frame.step

    @property
    def tapping(self) -> bool:
        """Whether `tap` records anything: for tensors that are made for it alone."""
        return bool(self._frame.tap_patterns)

    def tap(self, name: str, value: tf.Tensor) -> tf.Tensor:
        """Names a tensor inside the model, so that `--taps` records its value and the loss's gradient to it.

        Args:
          name: of the tensor, within this scope; a second one of that name in a pass gets a number.
          value: the tensor, as the model goes on with it.

        Returns:
          `value` itself, whether it is recorded or not.
        """
        frame = self._frame
        if frame.tap_patterns and taps.is_tapped(self._prefix + name, frame.tap_patterns):
            frame.taps[taps.unused_name(self._prefix + name, frame.taps)] = value
        return value

    def child(self, name: str) -> Scope:
        """Returns the scope `name/` inside this one."""
        return Scope(self._frame, self._prefix + name + "/")

    def get(
        self,
        name: str,
        shape: Iterable[int] | None = None,
        initializer: initializers.Initializer | None = None,
        trainable: bool = True,
    ) -> tf.Tensor:
        """Returns a variable's value.

        Args:
          name: within this scope; asking twice gives the same variable.
          shape: of the variable; None for one that was asked for before, as by a penalty on the layers' weights.
          initializer: draws the initial value; `GlorotUniform` unless given.
          trainable: False for a statistic, which only `update` changes.

        Returns:
          tensor of `shape` and the run's dtype.
        """
        initializer = initializers.GlorotUniform() if initializer is None else initializer
        require(isinstance(name, str) and name, "scope.get", name, "a variable's name must be a text")
        name = self._prefix + name
        if shape is None:
            require(name in self._frame.values_given, "scope.get", name, "has no shape, and was not asked for before")
            return self._frame.values_given[name]
        require(callable(initializer), f"scope.get: initializer of {name!r}", initializer, "must be an Initializer")
        value = self._frame.variable(name, model_checks.checked_shape(name, shape), initializer, trainable)
        self._frame.values_given[name] = value
        return value

    def names(self, ending: str = "") -> list[str]:
        """Returns the names of the variables of this scope that were asked for so far, in that order.

        So a penalty on all kernels needs no list of them: `sum(tf.nn.l2_loss(scope.get(name)) for name in
        scope.names("/kernel"))`.

        Args:
          ending: of the names that are returned.
        """
        own = [name for name in self._frame.values_given if name.startswith(self._prefix)]
        return [name for name in (name[len(self._prefix) :] for name in own) if name.endswith(ending)]

    @property
    def common(self) -> Scope:
        """The scope of random numbers that are drawn once for all replicas, such as classes that all towers sample."""
        return Scope(self._frame.of(COMMON), self._prefix)

    def pipeline_stage(self, index: int, count: int) -> ContextManager[Any]:
        """Returns the context to build pipeline stage `index` of `count` in: its device, if layers are divided."""
        devices = self._frame.devices
        return tf.device(devices[index * len(devices) // count]) if devices else contextlib.nullcontext()

    #: The former name, for models that have it.
    stage = pipeline_stage

    def update(self, name: str, value: tf.Tensor | Callable[[tf.Tensor], tf.Tensor]) -> None:
        """Proposes the statistic's next value; `Workload.statistics` decides which proposal is taken.

        A second function of the same statistic, as of a layer that runs twice, changes what the first one makes of it.

        Args:
          name: of the statistic, within this scope.
          value: tensor, or a function from the statistic's value to the next one, as "towers_in_turn" needs.

        Raises:
          InputError: the statistic was updated already, and one of both updates is a tensor; or a function is given
            before `get` asked for the statistic.
        """
        name = self._prefix + name
        before = self._frame.changes.get(name)
        if name in self._frame.updates and not (before is not None and callable(value)):
            raise InputError(f"scope.update: {name!r} was updated twice in one pass")
        if callable(value):
            require(name in self._frame.values_given, "scope.update", name, "must be asked for by scope.get before")
            change = value if before is None else _in_turn(before, value)
            self._frame.changes[name] = change
            value = change(self._frame.values_given[name])
        self._frame.updates[name] = value

    def decay(self, rate: float, weight: tf.Tensor) -> None:
        """Adds `rate * tf.nn.l2_loss(weight)`, half the squared norm times `rate`, to this tower's loss."""
        if rate:
            self._frame.penalties.append(tf.multiply(tf.nn.l2_loss(weight), tf.cast(rate, weight.dtype)))

    def uniform(self, name: str, shape: Sizes, turn: tf.Tensor | None = None) -> tf.Tensor:
        """Returns noise in [0, 1), its own for every (seed, step, replica, name); drawn in float32, then cast.

        Args:
          name: of the noise, within this scope.
          shape: of the numbers.
          turn: number of the iteration, int32 scalar, where a loop draws anew in each.

        Returns:
          the numbers.
        """
        return self._noise(name, shape, "uniform", turn)

    def normal(self, name: str, shape: Sizes, turn: tf.Tensor | None = None) -> tf.Tensor:
        """Returns noise of mean 0 and variance 1, its own for every (seed, step, replica, name), as `uniform`.

        Args:
          name: of the noise, within this scope.
          shape: of the numbers.
          turn: see `uniform`.

        Returns:
          the numbers.
        """
        return self._noise(name, shape, "normal", turn)

    def truncated_normal(self, name: str, shape: Sizes, turn: tf.Tensor | None = None) -> tf.Tensor:
        """Returns noise as `normal` does, redrawn where it is more than two deviations from 0.

        Args:
          name: of the noise, within this scope.
          shape: of the numbers.
          turn: see `uniform`.

        Returns:
          the numbers.
        """
        return self._noise(name, shape, "truncated_normal", turn)

    def integers(self, name: str, shape: Sizes, low: int, high: int, turn: tf.Tensor | None = None) -> tf.Tensor:
        """Returns integers from `low` to below `high`, their own for every (seed, step, replica, name).

        Args:
          name: of the noise, within this scope.
          shape: of the numbers.
          low: the least number.
          high: one above the largest number.
          turn: see `uniform`.

        Returns:
          the numbers, int32.
        """
        bits = self._frame.noise(self._prefix + name, _sizes(shape), "integers", turn)
        if bits.dtype != tf.uint32:  # the numbers of a recording
            return tf.cast(bits, tf.int32)
        return tf.cast(bits % tf.constant(high - low, tf.uint32), tf.int32) + low

    def categorical(self, name: str, logits: tf.Tensor, samples: int, turn: tf.Tensor | None = None) -> tf.Tensor:
        """Returns classes drawn by logits, their own for every (seed, step, replica, name); no gradient passes.

        Args:
          name: of the noise, within this scope.
          logits: [rows, classes], the logarithms of their probabilities, which need not add up to one.
          samples: number of draws in each row.
          turn: see `uniform`.

        Returns:
          the classes, int64 [rows, samples].
        """
        return self._frame.categorical(self._prefix + name, logits, samples, turn)

    def _noise(self, name: str, shape: Sizes, kind: str, turn: tf.Tensor | None) -> tf.Tensor:
        """Draws noise of one of the kinds of `Frame.noise`."""
        return tf.cast(self._frame.noise(self._prefix + name, _sizes(shape), kind, turn), self.dtype)

    def keep(self, name: str, shape: Sizes, rate: float) -> tf.Tensor:
        """Draws the mask of a dropout, which the step's record will hold.

        Args:
          name: of the noise, within this scope.
          shape: of the mask.
          rate: probability of False.

        Returns:
          boolean tensor, True where an element is kept.
        """
        mask = self.uniform(name, shape) >= rate
        self._frame.masks[self._prefix + name] = mask
        return mask


def _sizes(shape: Sizes) -> Tuple[int, ...] | tf.Tensor:
    """Returns a shape as numbers, or as the tensor that it is where they are known only when the model runs."""
    if not tf.is_tensor(shape):
        return tuple(shape)
    known = tf.get_static_value(shape)
    return shape if known is None else tuple(int(size) for size in known)


def _in_turn(
    first: Callable[[tf.Tensor], tf.Tensor], second: Callable[[tf.Tensor], tf.Tensor]
) -> Callable[[tf.Tensor], tf.Tensor]:
    """Returns the change of a value by two functions, one after the other."""
    return lambda now: second(first(now))
