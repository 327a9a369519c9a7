"""i_odd_combine: the training step of an old graph, decompiled to TensorFlow 2.

From graph.meta, written by TensorFlow 1.15.5; 3 towers, recognised by device /gpu:k.
The update is written as the old graph computes it, since no named optimizer describes it:
  * combining: gradients of 'm/dense_1/bias': kept as written, in Select_3:0 (Select)
For 3 replicas only: the update uses the results of each tower.
Loss, gradients and statistics of each tower have the old graph's bits on made-up numbers.

In the old program:
  * combining not recognised, kept as written: m/dense_1/bias, m/dense_1/kernel, m/dense/bias, m/dense/kernel
"""

from __future__ import annotations

import dataclasses

import tensorflow as tf

from workloads import initializers
from workloads.steps.workload import StepWorkload, gather
from workloads.workload import InputSpec

ZEROS = initializers.Constant(0.0)
WEIGHTS = ["m/dense/kernel", "m/dense/bias", "m/dense_1/kernel", "m/dense_1/bias"]


def tower_loss(scope, batch):
    """Returns the loss of one tower."""
    x = tf.matmul(batch["replica0/m/Placeholder"], scope.get("m/dense/kernel", (4, 6)))
    x = tf.nn.softplus(tf.nn.bias_add(x, scope.get("m/dense/bias", (6,), ZEROS)))
    x = tf.matmul(x, scope.get("m/dense_1/kernel", (6, 1)))
    x = tf.abs(tf.nn.bias_add(x, scope.get("m/dense_1/bias", (1,), ZEROS)) - batch["replica0/m/Placeholder_1"])
    return tf.reduce_mean(x)


def train_step(scope, batch, variables, context):
    """Runs a replica's part of GradientDescent; returns its loss."""
    loss = tower_loss(scope, batch)
    gradients = scope.gradients(loss, WEIGHTS)
    gradients = {n: gather(context, gradient) for n, gradient in zip(WEIGHTS, gradients)}
    losses = gather(context, loss)
    softmax = tf.nn.softmax(-tf.stack(losses))
    for name in WEIGHTS:
        x = tf.stack(gradients[name])
        y = tf.reduce_sum(x, axis=0) - tf.reduce_min(x, axis=0) - tf.reduce_max(x, axis=0)
        x = tf.tensordot(softmax, x, 1)
        gradient = tf.where(tf.abs(y) < tf.abs(x), y, x)
        tf.raw_ops.ResourceApplyGradientDescent(var=variables[name].handle, alpha=0.05, delta=gradient)
    return loss


@dataclasses.dataclass(frozen=True)
class IOddCombine(StepWorkload):
    """The old program's model and its whole training step."""

    name: str = "i_odd_combine"
    global_batch: int = 24  # the old graph takes any number
    replicas: int = 3

    def inputs(self):
        return {"replica0/m/Placeholder": InputSpec((4,)), "replica0/m/Placeholder_1": InputSpec((1,))}

    def losses(self):
        return [tower_loss]

    def train_ops(self):
        return [train_step]


PORT = IOddCombine()
