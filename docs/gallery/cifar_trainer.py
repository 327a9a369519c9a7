"""c_queue_ema: the training step of an old graph, decompiled to TensorFlow 2.

From graph.meta, written by TensorFlow 1.15.5; 2 towers, recognised by device /gpu:k.
Recognised: GradientDescent, mean of the towers' gradients, no clipping.
Loss, gradients and statistics of each tower have the old graph's bits on made-up numbers.

In the old program:
  * reads have no order with the update; here those of global_step come before it, those of conv1/weights, conv1/biases,
    local/weights come after it
  * the schedule counts updates (global_step), each of 2 x 8 examples, and no constant of it is 2: if its steps were
    planned for one tower's batch, it changes 2 times too late
"""

from __future__ import annotations

import dataclasses
from typing import Any

import tensorflow as tf

from workloads import initializers, optimizers, schedules
from workloads.workload import InputSpec, MovingAverage, Workload


def tower_loss(scope, batch):
    """Returns the loss of one tower."""
    weights = scope.get("conv1/weights", (3, 3, 2, 4), initializers.TruncatedNormal(0.2))
    x = tf.nn.conv2d(batch["images"], weights, strides=1, padding="SAME")
    x = tf.nn.relu(tf.nn.bias_add(x, scope.get("conv1/biases", (4,), initializers.TruncatedNormal(0.1))))
    x = tf.nn.max_pool2d(x, 2, 2, "SAME")
    x = tf.nn.local_response_normalization(x, 4, bias=1.0, alpha=0.00011111111, beta=0.75)
    x = tf.reshape(x, [-1, 64])
    logits = tf.matmul(x, scope.get("local/weights", (64, 5), initializers.TruncatedNormal(0.1)))
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=batch["labels"], logits=logits))
    return tf.add_n([tf.nn.l2_loss(scope.get("local/weights")) * 0.04, loss])


@dataclasses.dataclass(frozen=True)
class CQueueEma(Workload):
    """The old program's model and every choice that changes its mathematics."""

    name: str = "c_queue_ema"
    global_batch: int = 16
    optimizer: Any = optimizers.GradientDescent()
    learning_rate: Any = schedules.ExponentialDecay(0.1, 6, 0.5, staircase=True)
    moving_average: Any = MovingAverage(0.99)

    def inputs(self):
        return {"images": InputSpec((8, 8, 2)), "labels": InputSpec((), "int", classes=5)}

    def loss(self, scope, batch):
        return tower_loss(scope, batch)


PORT = CQueueEma()
