"""b_adam_clip: the training step of an old graph, decompiled to TensorFlow 2.

From graph.meta, written by TensorFlow 1.4.1; 2 towers, recognised by device /gpu:k.
Recognised: Adam, mean of the towers' gradients, clipping global_norm of tower gradients.
Assumed values of scalars that were fed: learning_rate=0.01.
Loss, gradients and statistics of each tower have the old graph's bits on made-up numbers.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import tensorflow as tf

from workloads import initializers, optimizers, schedules
from workloads.workload import Clip, InputSpec, Workload

ZEROS = initializers.Constant(0.0)

LEARNING_RATE = 0.01  # fed at every step in the old program


def tower_loss(scope, batch):
    """Returns the loss of one tower."""
    x = tf.matmul(batch["x"], scope.get("model/hidden/kernel", (6, 10)))
    x = tf.tanh(tf.nn.bias_add(x, scope.get("model/hidden/bias", (10,), ZEROS)))
    x = tf.matmul(x, scope.get("model/out/kernel", (10, 1)))
    squared_difference = tf.math.squared_difference(
        tf.nn.bias_add(x, scope.get("model/out/bias", (1,), ZEROS))[:, 0], batch["y"]
    )
    return tf.reduce_mean(squared_difference)


@dataclasses.dataclass(frozen=True)
class BAdamClip(Workload):
    """The old program's model and every choice that changes its mathematics."""

    name: str = "b_adam_clip"
    global_batch: int = 16  # the old graph takes any number
    optimizer: Any = optimizers.Adam(beta1=0.9, beta2=0.999, epsilon=1e-8)
    learning_rate: Any = schedules.Fixed(LEARNING_RATE)
    clip: Any = Clip(0.5, where="tower", how="global_norm")

    def inputs(self):
        return {"x": InputSpec((6,)), "y": InputSpec(())}

    def loss(self, scope, batch):
        return tower_loss(scope, batch)


PORT = BAdamClip()
