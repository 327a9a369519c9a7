"""Chunks of several steps' batches that wait on the replicas' devices, and are taken a step at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from modern.mirrored.step.step_tensors import Tensors


class StepChunks:
    """The current chunk of each replica, in variables: reading an iterator takes about as long as a small model's step.

    Args:
      strategy: its replicas take the batches.
      specs: {input name: spec of a chunk [steps, per-replica batch, *shape]}.
    """

    def __init__(self, strategy: tf.distribute.Strategy, specs: Mapping[str, tf.TensorSpec]) -> None:
        self._strategy = strategy
        devices = replica_devices(strategy)
        self._host = tf.DeviceSpec.from_string(devices[0]).replace(device_type="CPU", device_index=0).to_string()
        with tf.device(self._host):
            self._taken = tf.Variable(0, dtype=tf.int64, trainable=False)
            self._steps = tf.Variable(0, dtype=tf.int64, trainable=False)
        self._chunks = [_empty_chunk(specs, device) for device in devices]

    def clear(self) -> None:
        """Drops the current chunk, so that the next step reads a new one."""
        self._taken.assign(0)
        self._steps.assign(0)

    def fill(self, chunks: Sequence[Mapping[str, np.ndarray]]) -> None:
        """Makes each device's {input name: array [steps, per-replica batch, *shape]} the current chunk."""
        for variables, chunk in zip(self._chunks, chunks):
            for name, variable in variables.items():
                variable.assign(chunk[name])
        self._steps.assign(len(next(iter(chunks[0].values()))))
        self._taken.assign(0)

    def take(self, chunks: Any) -> Tensors:
        """Returns the next step's per-replica batch; reads the next of `chunks`, an iterator, where none is left."""

        def read_next() -> tf.Tensor:
            self._keep(next(chunks))
            return tf.constant(True)

        with tf.device(self._host):
            left = self._taken.read_value() < self._steps.read_value()
            tf.cond(left, lambda: tf.constant(True), read_next)
            step = self._taken.read_value()
            self._taken.assign(step + 1)
        return {name: self._step_of(name, step) for name in self._chunks[0]}

    def _keep(self, chunk: Mapping[str, Any]) -> None:
        for name, value in chunk.items():
            for variables, local in zip(self._chunks, self._strategy.experimental_local_results(value)):
                with tf.device(variables[name].device):
                    tf.raw_ops.AssignVariableOp(resource=variables[name].handle, value=local)
                steps = tf.shape(local, tf.int64)[0]
        self._steps.assign(steps)
        self._taken.assign(0)

    def _step_of(self, name: str, step: tf.Tensor) -> Any:
        batches = []
        for variables in self._chunks:
            with tf.device(variables[name].device):
                batches.append(variables[name].read_value()[step])
        in_order = iter(batches)
        return self._strategy.experimental_distribute_values_from_function(lambda context: next(in_order))


def replica_devices(strategy: tf.distribute.Strategy) -> Sequence[str]:
    """Returns the devices of the replicas in this process; the default strategy has one replica, on the CPU."""
    if tf.distribute.get_strategy() is strategy and not tf.distribute.has_strategy():
        return ("/device:CPU:0",)
    devices: Sequence[str] = strategy.extended.worker_devices
    return devices


def _empty_chunk(specs: Mapping[str, tf.TensorSpec], device: str) -> dict[str, tf.Variable]:
    with tf.device(device):
        return {
            name: tf.Variable(
                tf.zeros([size or 0 for size in spec.shape], spec.dtype), trainable=False, shape=[None, *spec.shape[1:]]
            )
            for name, spec in specs.items()
        }
