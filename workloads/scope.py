"""`Scope`: how a model asks for its variables by name, and what it may tell besides its loss.

A model sees one `Scope` class. Where variables come from is the business of the `Frame` behind it: legacy's
answers with `get_variable`, modern's with the replica's copy of a mirrored variable, the tracing one with
placeholders, so that a model's variables are known without running anything.
"""

from __future__ import annotations

import collections
import contextlib

import numpy as np
import tensorflow as tf

from workloads import initializers
from workloads.numerics import random_keys
from workloads.support.errors import InputError

VariableSpec = collections.namedtuple("VariableSpec", "name shape dtype trainable initializer")


def variable_bytes(spec):
    """Bytes of one copy of the variable."""
    return int(np.prod(spec.shape)) * np.dtype(spec.dtype).itemsize


class Frame:
    """What one tower's or replica's pass through a model collects. Subclasses answer `variable`.

    Attributes:
      dtype: name of the run's float dtype.
      seed, step, replica: what noise is keyed by; `step` an int64 tensor, `replica` an int.
      devices: those that the model's layers are divided among, or none if it stays on one; see `Scope.stage`.
      penalties: scalar tensors that the tower adds to the model's loss, in order.
      updates: {statistic name: new value tensor}.
      masks: {dropout name: boolean tensor, true where kept}.
    """

    def __init__(self, dtype, seed, step, replica, devices=()):
        self.dtype = dtype
        self.seed = seed
        self.step = step
        self.replica = replica
        self.devices = tuple(devices)
        self.penalties = []
        self.updates = collections.OrderedDict()
        self.masks = collections.OrderedDict()

    def variable(self, name, shape, initializer, trainable):
        """The variable's value as a tensor of `shape`; the same tensor each time within one frame."""
        raise NotImplementedError

    def noise(self, name, shape):
        """Uniform float32 noise in [0, 1), keyed by (seed, replica, name) and counted by the step."""
        key = tf.constant(random_keys.noise_key(self.seed, self.replica, name), tf.int32)
        seed = tf.stack([key, tf.cast(self.step, tf.int32)])
        # The raw op (Philox) draws the same numbers in TensorFlow 1.15 and today, on CPU and GPU.
        return tf.raw_ops.StatelessRandomUniform(shape=list(shape), seed=seed, dtype=tf.float32)


class Scope:
    """A place in the model's name space, in front of a `Frame`."""

    def __init__(self, frame, prefix=""):
        self._frame = frame
        self._prefix = prefix

    @property
    def dtype(self):
        """Name of the float dtype that variables and float inputs have."""
        return self._frame.dtype

    def child(self, name):
        """The scope `name/` inside this one."""
        return Scope(self._frame, self._prefix + name + "/")

    def get(self, name, shape, initializer=None, trainable=True):
        """The variable's value, shape `shape`. Not `trainable` means a statistic, changed by `update` only."""
        initializer = initializers.GlorotUniform() if initializer is None else initializer
        return self._frame.variable(self._prefix + name, tuple(shape), initializer, trainable)

    def stage(self, index, count):
        """Context in which stage `index` of the model's `count` is built: on its device, if layers are divided."""
        devices = self._frame.devices
        return tf.device(devices[index * len(devices) // count]) if devices else contextlib.nullcontext()

    def update(self, name, value):
        """Proposes the statistic's next value; `Workload.statistics` says whose proposal is taken."""
        if self._prefix + name in self._frame.updates:
            raise InputError(f"scope.update: {self._prefix + name!r} was updated twice in one pass")
        self._frame.updates[self._prefix + name] = value

    def decay(self, rate, weight):
        """Adds `rate * tf.nn.l2_loss(weight)`, half the squared norm times `rate`, to this tower's loss."""
        if rate:
            self._frame.penalties.append(tf.multiply(tf.nn.l2_loss(weight), tf.cast(rate, weight.dtype)))

    def uniform(self, name, shape):
        """Noise in [0, 1), its own for every (seed, step, replica, name); drawn in float32, then cast."""
        return tf.cast(self._frame.noise(self._prefix + name, tuple(shape)), self.dtype)

    def keep(self, name, shape, rate):
        """A boolean mask, false with probability `rate`: what dropout keeps. It is shown in the step's record."""
        mask = self.uniform(name, shape) >= rate
        self._frame.masks[self._prefix + name] = mask
        return mask


def tower_loss(workload, frame, batch, kind=Scope):
    """One tower's loss: the model's plus its penalties. Scalar tensor of the run's dtype."""
    loss = workload.loss(kind(frame), batch)
    return tf.add_n([loss] + frame.penalties) if frame.penalties else loss


class _TracingFrame(Frame):
    """Answers with placeholders and writes down what was asked for."""

    def __init__(self, dtype, devices=()):
        super().__init__(dtype, seed=0, step=tf.constant(0, tf.int64), replica=0, devices=devices)
        self.specs = collections.OrderedDict()
        self.noises = collections.OrderedDict()
        self.values = {}

    def variable(self, name, shape, initializer, trainable):
        if name not in self.specs:
            self.specs[name] = VariableSpec(name, shape, self.dtype, trainable, initializer)
            self.values[name] = tf.compat.v1.placeholder(self.dtype, shape)
        elif self.specs[name].shape != shape:
            raise InputError(f"scope.get: {name!r} was asked for as {self.specs[name].shape} and as {shape}")
        return self.values[name]

    def noise(self, name, shape):
        self.noises[name] = shape
        return super().noise(name, shape)


def trace(workload, per_replica_batch=1, dtype="float32"):
    """The model's variables, in the order it first asks for them, without running it.

    Returns:
      tuple of `VariableSpec`.

    Raises:
      InputError: the loss is not a scalar, or `update` names something that is not a statistic.
    """
    loss, frame = _trace(workload, per_replica_batch, dtype)
    if loss.shape.rank != 0:
        raise InputError(f"{workload.name}.loss: got shape {loss.shape}, must be a scalar")
    for name in frame.updates:
        if name not in frame.specs or frame.specs[name].trainable:
            raise InputError(f"scope.update: {name!r} is not a statistic (scope.get(..., trainable=False))")
    if not any(spec.trainable for spec in frame.specs.values()):
        raise InputError(f"{workload.name}.loss: asked for no trainable variable, so there is nothing to train")
    return tuple(frame.specs.values())


def trace_noise(workload, per_replica_batch, dtype):
    """{name: shape} of the noise that one pass of the model draws."""
    return dict(_trace(workload, per_replica_batch, dtype)[1].noises)


def trace_decayed(workload, per_replica_batch=1, dtype="float32"):
    """Names of the weights that the model hands to `Scope.decay`, at whatever rate."""
    seen = []

    class Spy(Scope):
        def child(self, name):
            return Spy(self._frame, self._prefix + name + "/")

        def decay(self, rate, weight):
            seen.extend(name for name, value in self._frame.values.items() if value is weight and rate)

    _trace(workload, per_replica_batch, dtype, Spy)
    return tuple(seen)


def trace_devices(workload, per_replica_batch, dtype, devices):
    """{variable name: its device} of a model whose layers are divided among `devices`.

    Raises:
      InputError: the model does not say where its layers are (`Scope.stage`), so that all would be on one device.
    """
    frame = _trace(workload, per_replica_batch, dtype, devices=devices)[1]
    found = {name: value.device or devices[0] for name, value in frame.values.items()}
    if len(set(found.values())) < len(devices):
        raise InputError(
            f"--layer_devices: got {len(devices)}, the layers of {workload.name} fill {len(set(found.values()))}"
        )
    return found


def _trace(workload, per_replica_batch, dtype, kind=Scope, devices=()):
    with tf.Graph().as_default():
        frame = _TracingFrame(dtype, devices)
        batch = {
            name: tf.compat.v1.placeholder(spec.dtype(dtype), (per_replica_batch,) + tuple(spec.shape))
            for name, spec in workload.inputs().items()
        }
        return tower_loss(workload, frame, batch, kind), frame


def initial_values(specs, seed):
    """{variable name: float32 array}, each keyed by its own name, so that adding one changes no other."""
    return {spec.name: spec.initializer(spec.shape, random_keys.generator("init", seed, spec.name)) for spec in specs}
