"""m_carried_state: the losses of an old graph's training step, decompiled to TensorFlow 2.

From graph.meta, written by TensorFlow 1.15.5; 2 towers, recognised by device /gpu:k.
Loss, gradients and statistics of each tower have the old graph's bits on made-up numbers.

All that follows from loss and gradients is imported from the folder 'lifted', since:
  * updates: 'state_0/c' (state of one tower) is changed outside of the optimizer
"""

from __future__ import annotations

import pathlib

import tensorflow as tf

from workloads.lifted.workload import lift_with_losses

#: Folder that `legacy.lift` wrote: its graph has the part of the step that is not written here.
LIFTED = pathlib.Path(__file__).parent / "lifted"


def lstm_cell(x, c, h, kernel, bias, forget_bias):
    """Runs an LSTM cell of 1.x on [batch, features]; returns its next state (c, h)."""
    gates = tf.nn.bias_add(tf.matmul(tf.concat([x, h], axis=1), kernel), bias)
    i, j, f, o = tf.split(gates, 4, axis=1)
    c = c * tf.sigmoid(f + forget_bias) + tf.sigmoid(i) * tf.tanh(j)
    return c, tf.tanh(c) * tf.sigmoid(o)


def tower_loss(scope, batch):
    """Returns the loss of one tower."""
    text = batch["text"]
    table = scope.get("lstm/table", (11, 4))
    kernel = scope.get("lstm/basic_lstm_cell/kernel", (9, 20))
    bias = scope.get("lstm/basic_lstm_cell/bias", (20,))
    x = tf.nn.embedding_lookup(table, text[:, 0])
    c, h = lstm_cell(
        x,
        scope.get(("state_0/c", "state_1/c")[scope.replica % 2], (4, 5), trainable=False),
        scope.get(("state_0/h", "state_1/h")[scope.replica % 2], (4, 5), trainable=False),
        kernel,
        bias,
        1.0,
    )
    c, h2 = lstm_cell(tf.nn.embedding_lookup(table, text[:, 1]), c, h, kernel, bias, 1.0)
    c, h3 = lstm_cell(tf.nn.embedding_lookup(table, text[:, 2]), c, h2, kernel, bias, 1.0)
    scope.update(("state_0/c", "state_1/c")[scope.replica % 2], c)
    scope.update(("state_0/h", "state_1/h")[scope.replica % 2], h3)
    x = tf.tensordot(tf.stack([h, h2, h3], axis=1), scope.get("lstm/softmax/kernel", (5, 11)), 1)
    labels = tf.reshape(text[:, 1:], [-1])
    logits = tf.reshape(tf.nn.bias_add(x, scope.get("lstm/softmax/bias", (11,))), [-1, 11])
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    return tf.reduce_sum(tf.reshape(losses, [-1, 3])) / 4.0


PORT = lift_with_losses(LIFTED, {"group_deps": tower_loss})
