"""l_gan: the losses of an old graph's training step, decompiled to TensorFlow 2.

From graph.meta, written by TensorFlow 1.15.5; 2 towers, recognised by device /gpu:k.
Loss, gradients and statistics of each tower have the old graph's bits on made-up numbers.

All that follows from loss and gradients is imported from the folder 'lifted', since:
  * train ops: d_train, g_train run in turn; a workload has one loss and one update

In the old program:
  * reads of discriminator/d2/kernel, discriminator/d2/bias have no order with the update; here they come before it
  * and 2 more races of d_train, of the same kinds (--json)
  * d_train: 4 weights are clipped by value, at -0.5 and 0.5 besides their update: discriminator/d1/kernel,
    discriminator/d1/bias, discriminator/d2/kernel, discriminator/d2/bias
"""

from __future__ import annotations

import pathlib

import tensorflow as tf

from workloads.lifted.workload import lift_with_losses

#: Folder that `legacy.lift` wrote: its graph has the part of the step that is not written here.
LIFTED = pathlib.Path(__file__).parent / "lifted"


def d_train_loss(scope, batch):
    """Returns the loss of one tower."""
    batch_size = int(batch["real"].shape[0])
    x = scope.normal("tower_0/random_normal/RandomStandardNormal", [batch_size, 3])
    x = tf.matmul(x, scope.get("generator/g1/kernel", (3, 8)))
    x = tf.nn.relu(tf.nn.bias_add(x, scope.get("generator/g1/bias", (8,))))
    x = tf.matmul(x, scope.get("generator/g2/kernel", (8, 2)))
    kernel = scope.get("discriminator/d1/kernel", (2, 8))
    x = tf.nn.bias_add(x, scope.get("generator/g2/bias", (2,)))
    bias = scope.get("discriminator/d1/bias", (8,))
    kernel2 = scope.get("discriminator/d2/kernel", (8, 1))
    x = tf.nn.leaky_relu(tf.nn.bias_add(tf.matmul(x, kernel), bias), alpha=0.2)
    bias2 = scope.get("discriminator/d2/bias", (1,))
    y = tf.nn.leaky_relu(tf.nn.bias_add(tf.matmul(batch["real"], kernel), bias), alpha=0.2)
    mean = tf.reduce_mean(tf.nn.bias_add(tf.matmul(x, kernel2), bias2))
    mean2 = tf.reduce_mean(tf.nn.bias_add(tf.matmul(y, kernel2), bias2))
    return mean - mean2


def g_train_loss(scope, batch):
    """Returns the loss of one tower."""
    batch_size = int(batch["real"].shape[0])
    x = scope.normal("tower_0/random_normal/RandomStandardNormal", [batch_size, 3])
    x = tf.matmul(x, scope.get("generator/g1/kernel", (3, 8)))
    x = tf.nn.relu(tf.nn.bias_add(x, scope.get("generator/g1/bias", (8,))))
    x = tf.matmul(x, scope.get("generator/g2/kernel", (8, 2)))
    x = tf.nn.bias_add(x, scope.get("generator/g2/bias", (2,)))
    x = tf.matmul(x, scope.get("discriminator/d1/kernel", (2, 8)))
    x = tf.nn.leaky_relu(tf.nn.bias_add(x, scope.get("discriminator/d1/bias", (8,))), alpha=0.2)
    x = tf.matmul(x, scope.get("discriminator/d2/kernel", (8, 1)))
    return -tf.reduce_mean(tf.nn.bias_add(x, scope.get("discriminator/d2/bias", (1,))))


PORT = lift_with_losses(LIFTED, {"d_train": d_train_loss, "g_train": g_train_loss})
