"""Facts about a model that are found by calling its loss once, on placeholders: its variables, noise and decays.

>>> from workloads.selection import registry
>>> for spec in trace(registry.get("stacked_lstm"))[:2]:
...     print(spec.name, spec.shape, spec.trainable)
lstm0/kernel (24, 64) True
lstm0/bias (64,) True
"""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any, Dict, NamedTuple

import tensorflow as tf

from workloads import initializers, model_checks
from workloads.frame import CATEGORICAL, COMMON, Frame, NoiseSpec
from workloads.numerics.statistics import TOWERS_IN_TURN
from workloads.scope import Scope, Tensors
from workloads.support.errors import InputError
from workloads.support.user import user_code
from workloads.tower_loss import tower_loss
from workloads.variable_spec import VariableSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from workloads.workload import Workload


class _TracingFrame(Frame):
    """Answers with placeholders and records each request."""

    def __init__(self, dtype: str, devices: Sequence[str] = ()) -> None:
        super().__init__(dtype, seed=0, step=tf.constant(0, tf.int64), replica=0, devices=devices)
        self.specs: dict[str, VariableSpec] = collections.OrderedDict()
        self.noises: dict[str, NoiseSpec] = collections.OrderedDict()
        self.values: Tensors = {}
        self.batch: Dict[str, str] = {}  # {input name: its placeholder's name}

    def variable(
        self, name: str, shape: tuple[int, ...], initializer: initializers.Initializer, trainable: bool
    ) -> tf.Tensor:
        if name not in self.specs:
            self.specs[name] = VariableSpec(name, shape, self.dtype, trainable, initializer)
            self.values[name] = tf.compat.v1.placeholder(self.dtype, shape)
        elif self.specs[name].shape != shape:
            raise InputError(f"scope.get: {name!r} was asked for as {self.specs[name].shape} and as {shape}")
        elif self.specs[name].trainable != trainable:
            raise InputError(f"scope.get: {name!r} was asked for as a weight and as a statistic (trainable=False)")
        return self.values[name]

    def noise(
        self, name: str, shape: tuple[int, ...], kind: str = "uniform", turn: tf.Tensor | None = None
    ) -> tf.Tensor:
        self.noises[name] = NoiseSpec.of(shape, kind, turn, self.replica)
        return super().noise(name, shape, kind, turn)

    def categorical(self, name: str, logits: tf.Tensor, samples: int, turn: tf.Tensor | None = None) -> tf.Tensor:
        self.noises[name] = NoiseSpec(None, CATEGORICAL, turn is not None, self.replica == COMMON)
        return super().categorical(name, logits, samples, turn)


def trace(workload: Workload, per_replica_batch: int = 1, dtype: str = "float32") -> tuple[VariableSpec, ...]:
    """Finds the model's variables without running it.

    Args:
      workload: the model.
      per_replica_batch: examples of one replica.
      dtype: name of the run's float dtype.

    Returns:
      the variables, in the order in which the model first asks for them.

    Raises:
      InputError: the loss is not a scalar, or `update` names something that is not a statistic.
      UserError: the model raised an exception.
    """
    frame = _trace(workload, per_replica_batch, dtype)[1]
    where = user_code.named(f"{workload.name}.loss", workload.loss)
    for name, value in frame.updates.items():
        if name not in frame.specs or frame.specs[name].trainable:
            raise InputError(f"{where}: scope.update: {name!r} is not a statistic (scope.get(..., trainable=False))")
        model_checks.check_update(where, frame.specs[name], value)
        if workload.statistics == TOWERS_IN_TURN and name not in frame.changes:
            raise InputError(f"{where}: scope.update: {name!r} got a tensor, towers in turn need a function")
    if not any(spec.trainable for spec in frame.specs.values()):
        raise InputError(f"{where}: asked for no trainable variable, so there is nothing to train")
    return tuple(frame.specs.values())


def has_statistics(workload: Workload) -> bool:
    """Tells whether the model has variables that are not trained, as batch normalization does."""
    return any(not spec.trainable for spec in trace(workload))


def trace_noise(workload: Workload, per_replica_batch: int, dtype: str) -> dict[str, NoiseSpec]:
    """Finds the noise that one pass of the model draws.

    Args:
      workload: the model.
      per_replica_batch: examples of one replica.
      dtype: name of the run's float dtype.

    Returns:
      {name: its shape and kind}.
    """
    return dict(_trace(workload, per_replica_batch, dtype)[1].noises)


def trace_decay_rates(workload: Workload, per_replica_batch: int = 1, dtype: str = "float32") -> dict[str, float]:
    """Finds the weights that the model hands to `Scope.decay` at a rate that is not zero.

    Args:
      workload: the model.
      per_replica_batch: examples of one replica.
      dtype: name of the run's float dtype.

    Returns:
      {weight: rate}, in the order of the calls; rates of one weight are added.
    """
    rates: dict[str, float] = collections.OrderedDict()

    class DecaySpy(Scope):
        """A scope that notes the weights it is to decay."""

        def child(self, name: str) -> Scope:
            return DecaySpy(self._frame, self._prefix + name + "/")

        def decay(self, rate: float, weight: tf.Tensor) -> None:
            assert isinstance(self._frame, _TracingFrame)
            for name, value in self._frame.values.items():
                if value is weight and rate:
                    rates[name] = rates.get(name, 0.0) + rate

    _trace(workload, per_replica_batch, dtype, DecaySpy)
    return rates


def asks_for_replicas(workload: Workload, per_replica_batch: int = 1, dtype: str = "float32") -> bool:
    """Returns whether the model uses the number of replicas, as one whose loss is divided by it.

    Args:
      workload: the model.
      per_replica_batch: examples of one replica.
      dtype: name of the run's float dtype.

    Returns:
      Whether it does.
    """
    asked: list[bool] = []

    class Spy(Scope):
        """A scope that notes that it is asked."""

        def child(self, name: str) -> Scope:
            return Spy(self._frame, self._prefix + name + "/")

        @property
        def replicas(self) -> int:
            asked.append(True)
            return super().replicas

    _trace(workload, per_replica_batch, dtype, Spy)
    return bool(asked)


def trace_decayed(workload: Workload, per_replica_batch: int = 1, dtype: str = "float32") -> tuple[str, ...]:
    """Finds the weights that the model hands to `Scope.decay` at a rate that is not zero.

    Args:
      workload: the model.
      per_replica_batch: examples of one replica.
      dtype: name of the run's float dtype.

    Returns:
      names of the weights, in the order of the calls.
    """
    return tuple(trace_decay_rates(workload, per_replica_batch, dtype))


def trace_updated(workload: Workload, per_replica_batch: int = 1, dtype: str = "float32") -> frozenset[str]:
    """Finds the statistics that the model changes; the others keep their values, as a scale that is not trained does.

    Args:
      workload: the model.
      per_replica_batch: examples of one replica.
      dtype: name of the run's float dtype.

    Returns:
      names of the statistics.
    """
    return frozenset(_trace(workload, per_replica_batch, dtype)[1].updates)


class TracedLoss(NamedTuple):
    """One tower's loss in a graph of its own.

    Attributes:
      loss: the scalar tensor.
      weights, statistics: {variable name: placeholder}.
      batch: {input name: placeholder}.
    """

    loss: tf.Tensor
    weights: Tensors
    statistics: Tensors
    batch: Tensors


def trace_loss(workload: Workload, per_replica_batch: int = 1, dtype: str = "float32") -> TracedLoss:
    """Builds one tower's loss as a function of placeholders.

    Args:
      workload: the model.
      per_replica_batch: examples of one replica.
      dtype: name of the run's float dtype.

    Returns:
      the loss and its placeholders; its graph is `loss.graph`.
    """
    loss, frame = _trace(workload, per_replica_batch, dtype)
    kinds: list[Tensors] = [
        {name: frame.values[name] for name, spec in frame.specs.items() if spec.trainable == trainable}
        for trainable in (True, False)
    ]
    batch = {name: loss.graph.get_tensor_by_name(frame.batch[name]) for name in workload.inputs()}
    return TracedLoss(loss, kinds[0], kinds[1], batch)


def trace_unused(workload: Workload, per_replica_batch: int = 1, dtype: str = "float32") -> tuple[str, ...]:
    """Finds the weights that the loss does not depend on in a differentiable way.

    Args:
      workload: the model.
      per_replica_batch: examples of one replica.
      dtype: name of the run's float dtype.

    Returns:
      names of the weights whose gradient is zero by construction.
    """
    traced = trace_loss(workload, per_replica_batch, dtype)
    with traced.loss.graph.as_default():
        found = tf.gradients(traced.loss, list(traced.weights.values()))
    return tuple(name for name, gradient in zip(traced.weights, found) if gradient is None)


def trace_devices(workload: Workload, per_replica_batch: int, dtype: str, devices: Sequence[str]) -> dict[str, str]:
    """Finds the device of each variable of a model whose layers are divided among several.

    Args:
      workload: the model.
      per_replica_batch: examples of one replica.
      dtype: name of the run's float dtype.
      devices: names of the devices, in the order of the pipeline's stages.

    Returns:
      {variable name: its device}.

    Raises:
      InputError: the model does not say where its layers are (`Scope.pipeline_stage`), so that all would be on one
        device.
    """
    frame = _trace(workload, per_replica_batch, dtype, devices=devices)[1]
    places = {name: value.device or devices[0] for name, value in frame.values.items()}
    if len(set(places.values())) < len(devices):
        raise InputError(
            f"--layer_devices: got {len(devices)}, the layers of {workload.name} fill {len(set(places.values()))}"
        )
    return places


def _trace(
    workload: Workload,
    per_replica_batch: int,
    dtype: str,
    kind: type[Scope] = Scope,
    devices: Sequence[str] = (),
) -> tuple[tf.Tensor, _TracingFrame]:
    """Returns the loss and the frame of one pass of the model in a graph of its own."""
    with tf.Graph().as_default(), tf.variable_creator_scope(_refuse_variable):
        frame = _TracingFrame(dtype, devices)
        batch = {
            name: tf.compat.v1.placeholder(spec.dtype(dtype), (per_replica_batch,) + tuple(spec.shape))
            for name, spec in workload.inputs().items()
        }
        frame.batch = {name: placeholder.name for name, placeholder in batch.items()}
        return tower_loss(workload, frame, batch, kind), frame


def _refuse_variable(next_creator: Callable[..., Any], **arguments: Any) -> Any:
    """Raises `InputError` for a variable that the model makes by itself: each side makes the variables its own way."""
    name = arguments.get("name") or "Variable"
    raise InputError(f"{name!r}: got a variable of its own, a model's variables come from scope.get (no Keras layers)")
