"""a_split_sgd: the training step of an old graph, decompiled to TensorFlow 2.

From graph.meta, written by TensorFlow 0.12.1; 2 towers, recognised by device /gpu:k.
Recognised: GradientDescent, mean of the towers' gradients, no clipping.
Loss, gradients and statistics of each tower have the old graph's bits on made-up numbers.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import tensorflow as tf

from workloads import initializers, optimizers, schedules
from workloads.workload import InputSpec, Workload

ZEROS = initializers.Constant(0.0)


def tower_loss(scope, batch):
    """Returns the loss of one tower."""
    x = tf.matmul(batch["images"], scope.get("net/w1", (12, 8), initializers.TruncatedNormal(0.3)))
    x = tf.nn.relu(x + scope.get("net/b1", (8,), initializers.Constant(0.1)))
    x = tf.matmul(x, scope.get("net/w2", (8, 4), initializers.TruncatedNormal(0.3)))
    logits = x + scope.get("net/b2", (4,), ZEROS)
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=batch["labels"], logits=logits))


@dataclasses.dataclass(frozen=True)
class ASplitSgd(Workload):
    """The old program's model and every choice that changes its mathematics."""

    name: str = "a_split_sgd"
    global_batch: int = 32
    optimizer: Any = optimizers.GradientDescent()
    learning_rate: Any = schedules.Fixed(0.1)

    def inputs(self):
        return {"images": InputSpec((12,)), "labels": InputSpec((), "int", classes=4)}

    def loss(self, scope, batch):
        return tower_loss(scope, batch)


PORT = ASplitSgd()
