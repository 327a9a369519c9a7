"""`Scope`: the object from which a model asks for its variables by name, and to which it reports more than its loss.

A model sees one `Scope` class. Where variables come from is decided by the `Frame` behind it: the tower graph's answers
with `get_variable`, the port's with the replica's copy of a mirrored variable, and that of `workloads.tracing` with
placeholders.
"""

from __future__ import annotations

import abc
import collections
import contextlib
from typing import TYPE_CHECKING, Any, ContextManager, Dict, NamedTuple, Optional, Tuple

import numpy as np
import tensorflow as tf

from workloads import initializers, model_checks, taps
from workloads.numerics import random_keys
from workloads.support.errors import InputError, require
from workloads.support.user import user_code

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from workloads.workload import Workload

#: {name: tensor}; the names are a model's, or an input's.
Tensors = Dict[str, Any]


class VariableSpec(NamedTuple):
    """One variable of a model.

    Attributes:
      name: with its scopes, "conv1/weights".
      shape: of the variable.
      dtype: name of its dtype.
      trainable: whether the optimizer changes it; otherwise it is a statistic.
      initializer: draws the initial value; None where it is known from elsewhere.
    """

    name: str
    shape: Tuple[int, ...]
    dtype: str
    trainable: bool
    initializer: Optional[initializers.Initializer]


class NoiseSpec(NamedTuple):
    """The noise that a model draws under one name.

    Attributes:
      shape: of the numbers.
      kind: one of `NOISE_OPS`.
    """

    shape: Tuple[int, ...]
    kind: str = "uniform"


#: {kind of noise: the raw op that draws it}.
NOISE_OPS = {
    "uniform": "StatelessRandomUniform",
    "normal": "StatelessRandomNormal",
    "truncated_normal": "StatelessTruncatedNormal",
}


class Frame(abc.ABC):
    """Collects what one tower's or replica's pass through a model leaves behind; subclasses answer `variable`.

    Args:
      dtype: name of the run's float dtype.
      seed: of the run.
      step: int64 scalar tensor.
      replica: number of the replica, over all processes.
      devices: devices that the model's layers are divided among, or none if it stays on one; see
        `Scope.pipeline_stage`.

    Attributes:
      penalties: scalar tensors that the tower adds to the model's loss, in order.
      updates: {statistic name: new value tensor}.
      changes: {statistic name: function from a value to the next one}, of updates that were given as one.
      values_given: {variable name: tensor} that the model got.
      masks: {dropout name: boolean tensor, true where kept}.
      taps: {name: tensor} that is recorded besides, in the order of the forward pass; see `workloads.taps`.
      tap_gradients: {name: gradient of the loss to it}, once the loss was differentiated.
      training: False where the model is evaluated.
      tap_patterns: of the taps that are recorded; none where taps are off.
    """

    training = True
    tap_patterns: Tuple[str, ...] = ()

    def __init__(self, dtype: str, seed: int, step: tf.Tensor, replica: int, devices: Sequence[str] = ()) -> None:
        self.dtype = dtype
        self.seed = seed
        self.step = step
        self.replica = replica
        self.devices = tuple(devices)
        self.penalties: list[tf.Tensor] = []
        self.updates: Tensors = collections.OrderedDict()
        self.changes: Dict[str, Callable[[tf.Tensor], tf.Tensor]] = {}
        self.values_given: Tensors = {}
        self.masks: Tensors = collections.OrderedDict()
        self.taps: Tensors = collections.OrderedDict()
        self.tap_gradients: Tensors = {}

    @abc.abstractmethod
    def variable(
        self, name: str, shape: tuple[int, ...], initializer: initializers.Initializer, trainable: bool
    ) -> tf.Tensor:
        """Gives the model a variable.

        Args:
          name: with its scopes.
          shape: of the variable.
          initializer: draws the initial value, where the variable is made.
          trainable: False for a statistic.

        Returns:
          the variable's value as a tensor of `shape`; the same tensor each time within one frame.
        """

    def noise(self, name: str, shape: tuple[int, ...], kind: str = "uniform") -> tf.Tensor:
        """Draws float32 noise, keyed by (seed, replica, name) and counted by the step.

        Args:
          name: of the noise, with its scopes.
          shape: of the numbers.
          kind: one of `NOISE_OPS`: uniform in [0, 1), normal with deviation 1, or the same redrawn beyond two.

        Returns:
          the numbers.
        """
        key = tf.constant(random_keys.noise_key(self.seed, self.replica, name), tf.int32)
        seed = tf.stack([key, tf.cast(self.step, tf.int32)])
        # The raw op (Philox) draws the same uniform numbers in TensorFlow 1.15 and today, on CPU and GPU.
        return getattr(tf.raw_ops, NOISE_OPS[kind])(shape=list(shape), seed=seed, dtype=tf.float32)


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
        shape: Iterable[int],
        initializer: initializers.Initializer | None = None,
        trainable: bool = True,
    ) -> tf.Tensor:
        """Returns a variable's value.

        Args:
          name: within this scope; asking twice gives the same variable.
          shape: of the variable.
          initializer: draws the initial value; `GlorotUniform` unless given.
          trainable: False for a statistic, which only `update` changes.

        Returns:
          tensor of `shape` and the run's dtype.
        """
        initializer = initializers.GlorotUniform() if initializer is None else initializer
        require(isinstance(name, str) and name, "scope.get", name, "a variable's name must be a text")
        name = self._prefix + name
        require(callable(initializer), f"scope.get: initializer of {name!r}", initializer, "must be an Initializer")
        value = self._frame.variable(name, model_checks.checked_shape(name, shape), initializer, trainable)
        self._frame.values_given[name] = value
        return value

    def pipeline_stage(self, index: int, count: int) -> ContextManager[Any]:
        """Returns the context to build pipeline stage `index` of `count` in: its device, if layers are divided."""
        devices = self._frame.devices
        return tf.device(devices[index * len(devices) // count]) if devices else contextlib.nullcontext()

    #: The former name, for models that have it.
    stage = pipeline_stage

    def update(self, name: str, value: tf.Tensor | Callable[[tf.Tensor], tf.Tensor]) -> None:
        """Proposes the statistic's next value; `Workload.statistics` decides which proposal is taken.

        Args:
          name: of the statistic, within this scope.
          value: tensor, or a function from the statistic's value to the next one, as "towers_in_turn" needs.

        Raises:
          InputError: the statistic was updated already, or a function is given before `get` asked for the statistic.
        """
        name = self._prefix + name
        if name in self._frame.updates:
            raise InputError(f"scope.update: {name!r} was updated twice in one pass")
        if callable(value):
            require(name in self._frame.values_given, "scope.update", name, "must be asked for by scope.get before")
            self._frame.changes[name] = value
            value = value(self._frame.values_given[name])
        self._frame.updates[name] = value

    def decay(self, rate: float, weight: tf.Tensor) -> None:
        """Adds `rate * tf.nn.l2_loss(weight)`, half the squared norm times `rate`, to this tower's loss."""
        if rate:
            self._frame.penalties.append(tf.multiply(tf.nn.l2_loss(weight), tf.cast(rate, weight.dtype)))

    def uniform(self, name: str, shape: Iterable[int]) -> tf.Tensor:
        """Returns noise in [0, 1), its own for every (seed, step, replica, name); drawn in float32, then cast."""
        return tf.cast(self._frame.noise(self._prefix + name, tuple(shape)), self.dtype)

    def normal(self, name: str, shape: Iterable[int]) -> tf.Tensor:
        """Returns noise of mean 0 and deviation 1, its own for every (seed, step, replica, name), as `uniform`."""
        return tf.cast(self._frame.noise(self._prefix + name, tuple(shape), "normal"), self.dtype)

    def truncated_normal(self, name: str, shape: Iterable[int]) -> tf.Tensor:
        """Returns noise as `normal` does, redrawn where it is more than two deviations from 0."""
        return tf.cast(self._frame.noise(self._prefix + name, tuple(shape), "truncated_normal"), self.dtype)

    def keep(self, name: str, shape: Iterable[int], rate: float) -> tf.Tensor:
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


def tower_loss(workload: Workload, frame: Frame, batch: Tensors, kind: type[Scope] = Scope) -> tf.Tensor:
    """Builds one tower's loss: the model's plus its penalties.

    Args:
      workload: the model.
      frame: answers the model and collects its penalties.
      batch: {input name: tensor [per-replica batch, *shape]}.
      kind: class of the scope that the model sees.

    Returns:
      scalar tensor of the run's dtype.

    Raises:
      InputError: the model returned something else.
      UserError: the model raised an exception.
    """
    what, inputs = f"{workload.name}.loss", ", ".join(f"{n} {v.dtype.name} {v.shape}" for n, v in batch.items())
    with user_code.calling(what, workload.loss, f"a scalar from scope.get's variables and the batch ({inputs})"):
        loss = workload.loss(kind(frame), batch)
    model_checks.check_loss(user_code.named(what, workload.loss), loss, frame.dtype)
    return tf.add_n([loss] + frame.penalties) if frame.penalties else loss


def initial_values(specs: Iterable[VariableSpec], seed: int) -> dict[str, np.ndarray]:
    """Returns {variable name: float32 array}, each keyed by its own name, so that adding one changes no other.

    Raises:
      InputError: a variable has no initializer.
    """
    values = {}
    for spec in specs:
        if spec.initializer is None:
            raise InputError(f"initial_values: {spec.name!r} has no initializer")
        what = f"initializer of {spec.name!r}"
        with user_code.calling(what, spec.initializer, f"an array {spec.shape}"):
            value = np.asarray(spec.initializer(spec.shape, random_keys.generator("init", seed, spec.name)))
        if value.shape != tuple(spec.shape) or value.dtype.kind not in "fiub":
            what = user_code.named(what, spec.initializer)
            raise InputError(f"{what}: got {value.dtype} {value.shape}, must be an array of numbers {spec.shape}")
        values[spec.name] = value
    return values
