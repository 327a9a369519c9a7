"""h_dynamic_rnn: the training step of an old graph, decompiled to TensorFlow 2.

From graph.meta, written by TensorFlow 1.15.5; 2 towers, recognised by device /gpu:k.
Recognised: Momentum, mean of the towers' gradients, clipping norm of combined gradients.
Loss, gradients and statistics of each tower have the old graph's bits on made-up numbers.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import tensorflow as tf

from workloads import initializers, optimizers, schedules
from workloads.workload import Clip, InputSpec, Workload

ZEROS = initializers.Constant(0.0)


def lstm_cell(x, c, h, kernel, bias, forget_bias):
    """Runs an LSTM cell of 1.x on [batch, features]; returns its next state (c, h)."""
    gates = tf.nn.bias_add(tf.matmul(tf.concat([x, h], axis=1), kernel), bias)
    i, j, f, o = tf.split(gates, 4, axis=1)
    c = c * tf.sigmoid(f + forget_bias) + tf.sigmoid(i) * tf.tanh(j)
    return c, tf.tanh(c) * tf.sigmoid(o)


def lstm_step(length, inputs, bias, kernel, time, c, h):
    """Runs an LSTM cell for one step of time; returns the next values of what the loop carries."""
    mask = tf.reshape(time >= length, [-1, 1])
    c2, h2 = lstm_cell(inputs.read(time), c, h, kernel, bias, 1.0)
    return [time + 1, tf.where(mask, c, c2), tf.where(mask, h, h2)]


def tower_loss(scope, batch):
    """Returns the loss of one tower."""
    batch_size = int(batch["x"].shape[0])
    length = batch["length"]
    steps = tf.minimum(5, tf.maximum(1, tf.reduce_max(length)))
    inputs = tf.TensorArray(tf.float32, 5).unstack(tf.transpose(batch["x"], [1, 0, 2]))
    bias = scope.get("rnn/rnn/lstm_cell/bias", (20,), ZEROS)
    kernel = scope.get("rnn/rnn/lstm_cell/kernel", (8, 20))
    _, _, h = tf.while_loop(
        lambda time, c, h: (time < 5) & (time < steps),
        lambda *state: lstm_step(length, inputs, bias, kernel, *state),
        [0, tf.zeros([batch_size, 5]), tf.zeros([batch_size, 5])],
    )
    x = tf.matmul(h, scope.get("rnn/dense/kernel", (5, 3)))
    logits = tf.nn.bias_add(x, scope.get("rnn/dense/bias", (3,), ZEROS))
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=batch["y"], logits=logits))


@dataclasses.dataclass(frozen=True)
class HDynamicRnn(Workload):
    """The old program's model and every choice that changes its mathematics."""

    name: str = "h_dynamic_rnn"
    global_batch: int = 8
    optimizer: Any = optimizers.Momentum(momentum=0.9)
    learning_rate: Any = schedules.Fixed(0.1)
    clip: Any = Clip(0.3, where="combined", how="norm")

    def inputs(self):
        return {"x": InputSpec((5, 3)), "length": InputSpec((), "int", classes=6), "y": InputSpec((), "int", classes=3)}

    def loss(self, scope, batch):
        return tower_loss(scope, batch)


PORT = HDynamicRnn()
