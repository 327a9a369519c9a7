"""l_gan: the training step of an old graph, decompiled to TensorFlow 2.

From graph.meta, written by TensorFlow 1.15.5; 2 towers, recognised by device /gpu:k.
The update is written as the old graph computes it, since no named optimizer describes it:
  * train ops: d_train, g_train run in turn; a workload has one loss and one update
Loss, gradients and statistics of each tower have the old graph's bits on made-up numbers.

In the old program:
  * reads of discriminator/d2/kernel, discriminator/d2/bias have no order with the update; here they come before it
  * d_train: 4 weights are clipped by value, at -0.5 and 0.5 besides their update: discriminator/d1/kernel,
    discriminator/d1/bias, discriminator/d2/kernel, discriminator/d2/bias
"""

from __future__ import annotations

import dataclasses

import tensorflow as tf

from workloads import initializers
from workloads.steps.workload import StepWorkload
from workloads.workload import InputSpec

ZEROS = initializers.Constant(0.0)
D_TRAIN_WEIGHTS = [
    "discriminator/d1/kernel",
    "discriminator/d1/bias",
    "discriminator/d2/kernel",
    "discriminator/d2/bias",
]
G_TRAIN_WEIGHTS = ["generator/g1/kernel", "generator/g1/bias", "generator/g2/kernel", "generator/g2/bias"]
OTHERS = {  # shape, first value and dtype of the update's variables
    "beta1_power": ((), 0.5, tf.float32),
    "beta2_power": ((), 0.999, tf.float32),
}
SLOTS = [(D_TRAIN_WEIGHTS, {"RMSProp": 1.0, "RMSProp_1": 0.0}), (G_TRAIN_WEIGHTS, {"Adam": 0.0, "Adam_1": 0.0})]


def generator(scope, batch_size):
    """Returns the output of network `generator`: a dense layer, a rectifier."""
    x = scope.normal("tower_0", [batch_size, 3])
    x = tf.matmul(x, scope.get("generator/g1/kernel", (3, 8)))
    x = tf.nn.relu(tf.nn.bias_add(x, scope.get("generator/g1/bias", (8,), ZEROS)))
    x = tf.matmul(x, scope.get("generator/g2/kernel", (8, 2)))
    return tf.nn.bias_add(x, scope.get("generator/g2/bias", (2,), ZEROS))


def discriminator(scope, x):
    """Returns the output of network `discriminator`: a dense layer."""
    x = tf.matmul(x, scope.get("discriminator/d1/kernel", (2, 8)))
    x = tf.nn.leaky_relu(tf.nn.bias_add(x, scope.get("discriminator/d1/bias", (8,), ZEROS)), alpha=0.2)
    x = tf.matmul(x, scope.get("discriminator/d2/kernel", (8, 1)))
    return tf.nn.bias_add(x, scope.get("discriminator/d2/bias", (1,), ZEROS))


def d_train_loss(scope, batch):
    """Returns the loss of one tower."""
    batch_size = int(batch["real"].shape[0])
    mean = tf.reduce_mean(discriminator(scope, batch["real"]))
    return tf.reduce_mean(discriminator(scope, generator(scope, batch_size))) - mean


def g_train_loss(scope, batch):
    """Returns the loss of one tower."""
    batch_size = int(batch["real"].shape[0])
    return -tf.reduce_mean(discriminator(scope, generator(scope, batch_size)))


def d_train(scope, batch, variables, context):
    """Runs a replica's part of d_train; returns its loss."""
    loss = d_train_loss(scope, batch)
    gradients = scope.gradients(loss, D_TRAIN_WEIGHTS)
    gradients = [tf.clip_by_value(gradient, -0.1, 0.1) for gradient in gradients]
    gradients = dict(zip(D_TRAIN_WEIGHTS, context.all_reduce(tf.distribute.ReduceOp.MEAN, gradients)))
    for name in D_TRAIN_WEIGHTS:
        tf.raw_ops.ResourceApplyRMSProp(
            var=variables[name].handle,
            ms=variables[name + "/RMSProp"].handle,
            mom=variables[name + "/RMSProp_1"].handle,
            lr=0.005,
            rho=0.9,
            momentum=0.0,
            epsilon=1e-10,
            grad=gradients[name],
        )
    for name in D_TRAIN_WEIGHTS:
        variables[name].assign(tf.clip_by_value(variables[name].read_value(), -0.5, 0.5))
    return loss


def g_train(scope, batch, variables, context):
    """Runs a replica's part of g_train; returns its loss."""
    values = scope.values
    loss = g_train_loss(scope, batch)
    gradients = scope.gradients(loss, G_TRAIN_WEIGHTS)
    gradients = dict(zip(G_TRAIN_WEIGHTS, context.all_reduce(tf.distribute.ReduceOp.MEAN, gradients)))
    for name in G_TRAIN_WEIGHTS:
        tf.raw_ops.ResourceApplyAdam(
            var=variables[name].handle,
            m=variables[name + "/Adam"].handle,
            v=variables[name + "/Adam_1"].handle,
            beta1_power=values["beta1_power"],
            beta2_power=values["beta2_power"],
            lr=0.01,
            beta1=0.5,
            beta2=0.999,
            epsilon=1e-8,
            grad=gradients[name],
        )
    variables["beta1_power"].assign(values["beta1_power"] * 0.5)
    variables["beta2_power"].assign(values["beta2_power"] * 0.999)
    return loss


@dataclasses.dataclass(frozen=True)
class LGan(StepWorkload):
    """The old program's model and its whole training step."""

    name: str = "l_gan"
    global_batch: int = 16

    def inputs(self):
        return {"real": InputSpec((2,))}

    def losses(self):
        return [d_train_loss, g_train_loss]

    def train_ops(self):
        return [d_train, g_train]

    def other_variables(self):
        return OTHERS

    def slots(self):
        return SLOTS


PORT = LGan()
