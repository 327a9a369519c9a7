"""A tower's answer to `Scope.get`: `get_variable` with reuse."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Dict

import tensorflow as tf

from workloads.frame import Frame

if TYPE_CHECKING:
    from workloads.job import Job

v1 = tf.compat.v1


class TowerFrame(Frame):
    """One tower's pass through the model; the first tower of a graph creates the variables, the others reuse them.

    Args:
      job: the `Job`.
      step: `global_step` as a tensor.
      tower: number of the tower.
      variables: {name: variable}, filled by the first tower.
      device: where variables are placed, or None for the current device.
      layer_devices: see `Frame.devices`.
    """

    def __init__(
        self,
        job: Job,
        step: tf.Tensor,
        tower: int,
        variables: dict[str, tf.Variable],
        device: str | None,
        layer_devices: Sequence[str] = (),
    ) -> None:
        super().__init__(job.dtype, job.seed, step, tower, layer_devices, job.replicas)
        self.variables = variables
        self._device = device
        self._reads: Dict[str, tf.Tensor] = {}

    def variable(self, name: str, shape: tuple[int, ...], initializer: Any, trainable: bool) -> tf.Tensor:
        if name not in self._reads:
            with v1.variable_scope(v1.get_variable_scope(), reuse=name in self.variables):
                variable = self._get_variable(name, shape, trainable)
            self.variables.setdefault(name, variable)
            # One read a tower: all uses see one value, and their gradients meet here in one sum.
            self._reads[name] = tf.identity(variable)
        return self._reads[name]

    def read(self, name: str) -> tf.Tensor:
        """The tensor of variable `name` that the model computed with."""
        return self._reads[name]

    def _get_variable(self, name: str, shape: tuple[int, ...], trainable: bool) -> tf.Variable:
        # `tf.device(None)` would not leave the current device as it is, but forget it.
        with contextlib.nullcontext() if self._device is None else tf.device(self._device):
            # Values are loaded afterwards, so the graph's own initializer is only a placeholder for them.
            return v1.get_variable(
                name, shape, self.dtype, v1.zeros_initializer(), trainable=trainable, use_resource=True
            )
