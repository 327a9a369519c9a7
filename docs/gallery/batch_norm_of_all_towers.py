"""j_dataset_resource: the training step of an old graph, decompiled to TensorFlow 2.

From graph.meta, written by TensorFlow 1.15.5; 2 towers, recognised by device /gpu:k.
Recognised: Momentum, mean of the towers' gradients, no clipping.
Loss, gradients and statistics of each tower have the old graph's bits on made-up numbers.

In the old program:
  * reads of net/bn/moving_mean, net/bn/moving_variance have no order with the update; here they come after it
  * net/bn/moving_mean: changed by tower_0/net/bn/AssignMovingAvg/AssignSubVariableOp and
    tower_1/net/bn/AssignMovingAvg/AssignSubVariableOp in any order
  * net/bn/moving_variance: changed by tower_0/net/bn/AssignMovingAvg_1/AssignSubVariableOp and
    tower_1/net/bn/AssignMovingAvg_1/AssignSubVariableOp in any order
  * the schedule counts updates (global_step), each of 2 x 8 examples, and no constant of it is 2: if its steps were
    planned for one tower's batch, it changes 2 times too late
"""

from __future__ import annotations

import dataclasses
from typing import Any

import tensorflow as tf

from workloads import initializers, optimizers, schedules
from workloads.workload import InputSpec, Workload

ZEROS = initializers.Constant(0.0)
ONES = initializers.Constant(1.0)


def tower_loss(scope, batch):
    """Returns the loss of one tower."""
    x = tf.matmul(batch["features"], scope.get("net/h/kernel", (7, 6)))
    mean, variance = tf.nn.moments(x, [0])
    scope.get("net/bn/moving_mean", (6,), ZEROS, trainable=False)
    scope.update("net/bn/moving_mean", lambda now: now - (now - mean) * 0.1)
    scope.get("net/bn/moving_variance", (6,), ONES, trainable=False)
    scope.update("net/bn/moving_variance", lambda now: now - (now - variance) * 0.1)
    beta = scope.get("net/bn/beta", (6,), ZEROS)
    gamma = scope.get("net/bn/gamma", (6,), ONES)
    x = tf.nn.relu(tf.nn.batch_normalization(x, mean, variance, beta, gamma, 0.001))
    x = tf.matmul(x, scope.get("net/logits/kernel", (6, 3)))
    logits = tf.nn.bias_add(x, scope.get("net/logits/bias", (3,), ZEROS))
    loss = tf.reduce_sum(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=batch["labels"], logits=logits))
    return loss / 8.0


@dataclasses.dataclass(frozen=True)
class JDatasetResource(Workload):
    """The old program's model and every choice that changes its mathematics."""

    name: str = "j_dataset_resource"
    global_batch: int = 16
    optimizer: Any = optimizers.Momentum(momentum=0.9)
    learning_rate: Any = schedules.PiecewiseConstant((6, 12), (0.1, 0.05, 0.01))
    statistics: str = "towers_in_turn"

    def inputs(self):
        return {"features": InputSpec((7,)), "labels": InputSpec((), "int", classes=3)}

    def loss(self, scope, batch):
        return tower_loss(scope, batch)


PORT = JDatasetResource()
