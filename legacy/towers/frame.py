"""A tower's answer to `Scope.get`: `get_variable` with reuse."""

from __future__ import annotations

import tensorflow as tf

from workloads.scope import Frame

v1 = tf.compat.v1


class TowerFrame(Frame):
    """One tower's pass through the model; the first of a graph makes the variables, the others find them.

    Args:
      job: the `Job`.
      step: `global_step` as a tensor.
      tower: number of the tower.
      variables: {name: tf.Variable}, filled by the first tower.
      device: where variables are placed, or None for the current device.
      stages: see `Frame.devices`.
    """

    def __init__(self, job, step, tower, variables, device, stages=()):
        super().__init__(job.dtype, job.seed, step, tower, stages)
        self.variables = variables
        self._device = device
        self._reads = {}

    def variable(self, name, shape, initializer, trainable):
        if name not in self._reads:
            with v1.variable_scope(v1.get_variable_scope(), reuse=name in self.variables):
                variable = self._get_variable(name, shape, trainable)
            self.variables.setdefault(name, variable)
            # One read a tower: all uses see one value, and their gradients meet here in one sum.
            self._reads[name] = tf.identity(variable)
        return self._reads[name]

    def read(self, name):
        """The tensor the model computed with."""
        return self._reads[name]

    def _get_variable(self, name, shape, trainable):
        # Values are loaded afterwards, so the graph's own initializer is only a placeholder for them.
        make = lambda: v1.get_variable(  # noqa: E731
            name, shape, self.dtype, v1.zeros_initializer(), trainable=trainable, use_resource=True
        )
        if self._device is None:
            return make()
        with tf.device(self._device):
            return make()
