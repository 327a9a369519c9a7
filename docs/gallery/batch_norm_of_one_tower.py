"""d_batch_norm: the training step of an old graph, decompiled to TensorFlow 2.

From graph.meta, written by TensorFlow 1.15.5; 2 towers, recognised by device /gpu:k.
Recognised: Momentum, mean of the towers' gradients, no clipping.
Loss, gradients and statistics of each tower have the old graph's bits on made-up numbers.

In the old program:
  * 4 update ops never run with the train op, which updates their variables by other ops: tower1/bn0/AssignMovingAvg,
    tower1/bn0/AssignMovingAvg_1, tower1/bn1/cond_2/AssignMovingAvg, tower1/bn1/cond_3/AssignMovingAvg; if the program
    fetched them beside it, name them: --with=OP,...
  * 4 statistics follow the first tower's batches only
"""

from __future__ import annotations

import dataclasses
from typing import Any

import tensorflow as tf

from workloads import initializers, optimizers, schedules
from workloads.workload import InputSpec, Workload

ZEROS = initializers.Constant(0.0)
ONES = initializers.Constant(1.0)

UPDATE_RATE = 0.00999999  # 1 - 0.99 in float32


def tower_loss(scope, batch):
    """Returns the loss of one tower."""
    batch_size = int(batch["x"].shape[0])
    x = tf.nn.conv2d(batch["x"], scope.get("conv0/kernel", (3, 3, 2, 4)), strides=1, padding="SAME")
    bn0_gamma = scope.get("bn0/gamma", (4,), ONES)
    bn0_beta = scope.get("bn0/beta", (4,), ZEROS)
    x, mean, variance = tf.compat.v1.nn.fused_batch_norm(x, bn0_gamma, bn0_beta, epsilon=0.001)
    bn0_moving_variance = scope.get("bn0/moving_variance", (4,), ONES, trainable=False)
    scope.update("bn0/moving_variance", bn0_moving_variance - (bn0_moving_variance - variance) * UPDATE_RATE)
    bn0_moving_mean = scope.get("bn0/moving_mean", (4,), ZEROS, trainable=False)
    scope.update("bn0/moving_mean", bn0_moving_mean - (bn0_moving_mean - mean) * UPDATE_RATE)
    x = tf.nn.relu(x)
    y = tf.nn.conv2d(x, scope.get("conv1/kernel", (3, 3, 4, 4)), strides=1, padding="SAME")
    mean, variance = tf.nn.moments(y, [0, 1, 2])
    bn1_moving_variance = scope.get("bn1/moving_variance", (4,), ONES, trainable=False)
    scope.update("bn1/moving_variance", bn1_moving_variance - (bn1_moving_variance - variance) * 0.01)
    bn1_moving_mean = scope.get("bn1/moving_mean", (4,), ZEROS, trainable=False)
    scope.update("bn1/moving_mean", bn1_moving_mean - (bn1_moving_mean - mean) * 0.01)
    bn1_beta = scope.get("bn1/beta", (4,), ZEROS)
    bn1_gamma = scope.get("bn1/gamma", (4,), ONES)
    x = tf.reduce_mean(
        tf.nn.relu(x + tf.nn.batch_normalization(y, mean, variance, bn1_beta, bn1_gamma, 0.001)), axis=[1, 2]
    )
    x = tf.matmul(x, scope.get("fc/kernel", (4, 3)))
    logits = tf.nn.bias_add(x, scope.get("fc/bias", (3,), ZEROS))
    loss = tf.reduce_sum(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=batch["y"], logits=logits))
    penalty = 0.01 * tf.nn.l2_loss(scope.get("fc/kernel"))
    return loss / batch_size + (penalty if scope.replica == 0 else 0.0)


@dataclasses.dataclass(frozen=True)
class DBatchNorm(Workload):
    """The old program's model and every choice that changes its mathematics."""

    name: str = "d_batch_norm"
    global_batch: int = 16
    optimizer: Any = optimizers.Momentum(momentum=0.9, nesterov=True)
    learning_rate: Any = schedules.Fixed(0.05)

    def inputs(self):
        return {"x": InputSpec((6, 6, 2)), "y": InputSpec((), "int", classes=3)}

    def loss(self, scope, batch):
        return tower_loss(scope, batch)


PORT = DBatchNorm()
