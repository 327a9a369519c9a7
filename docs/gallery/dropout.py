"""e_slim_dropout: the training step of an old graph, decompiled to TensorFlow 2.

From graph.meta, written by TensorFlow 1.15.5; 2 towers, recognised by device /gpu:k.
Recognised: RMSProp, sum of the towers' gradients, no clipping.
Loss, gradients and statistics of each tower have the old graph's bits on made-up numbers.

In the old program:
  * train_op: each tower's loss counts 1/2: its sum over towers is a mean
"""

from __future__ import annotations

import dataclasses
from typing import Any

import tensorflow as tf

from workloads import initializers, optimizers, schedules
from workloads.workload import InputSpec, Workload

ZEROS = initializers.Constant(0.0)

KEEP_PROB = 0.75  # fed at every step in the old program


def dropout_by_rate(x, rate, noise):
    """Dropout of 1.14 and 1.15: keeps and scales the values where `noise`, uniform in [0, 1), is high."""
    return x * (1.0 / (1.0 - rate)) * tf.cast(noise >= rate, tf.float32)


def tower_loss(scope, batch):
    """Returns the loss of one tower."""
    batch_size = int(batch["images"].shape[0])
    weights = scope.get("conv1/weights", (3, 3, 1, 4))
    x = tf.nn.conv2d(batch["images"], weights, strides=1, padding="SAME")
    x = tf.nn.relu(tf.nn.bias_add(x, scope.get("conv1/biases", (4,), ZEROS)))
    x = tf.nn.max_pool2d(x, 2, 2, "VALID")
    x = tf.reshape(x, [-1, 36])
    x = tf.matmul(x, scope.get("fc1/weights", (36, 8)))
    rate = 1.0 - tf.constant(KEEP_PROB)
    noise = scope.uniform("dropout1/dropout", [batch_size, 8])
    x = dropout_by_rate(tf.nn.relu(tf.nn.bias_add(x, scope.get("fc1/biases", (8,), ZEROS))), rate, noise)
    x = tf.matmul(x, scope.get("logits/weights", (8, 4)))
    labels = tf.stop_gradient(batch["one_hot"] * 0.9 + 0.025)
    logits = tf.nn.bias_add(x, scope.get("logits/biases", (4,), ZEROS))
    loss = tf.reduce_sum(tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits)) / 8.0
    decayed = ["conv1/weights", "fc1/weights", "logits/weights"]
    penalty = sum([0.004 * tf.nn.l2_loss(scope.get(name)) for name in decayed])
    return (loss + (penalty if scope.replica == 0 else 0.0)) / scope.replicas


@dataclasses.dataclass(frozen=True)
class ESlimDropout(Workload):
    """The old program's model and every choice that changes its mathematics."""

    name: str = "e_slim_dropout"
    global_batch: int = 16
    optimizer: Any = optimizers.RMSProp(decay=0.9, momentum=0.9, epsilon=1.0)
    learning_rate: Any = schedules.Fixed(0.01)
    combine: str = "sum"

    def inputs(self):
        return {"images": InputSpec((6, 6, 1)), "one_hot": InputSpec((4,))}

    def loss(self, scope, batch):
        return tower_loss(scope, batch)


PORT = ESlimDropout()
