"""m_carried_state: the training step of an old graph, decompiled to TensorFlow 2.

From graph.meta, written by TensorFlow 1.15.5; 2 towers, recognised by device /gpu:k.
The update is written as the old graph computes it, since no named optimizer describes it:
  * updates: 'state_0/c' (state of one tower) is changed outside of the optimizer
  * model: towers read variables of their own; a workload's replicas share all
For 2 replicas only: each tower has a state of its own.
Loss, gradients and statistics of each tower have the old graph's bits on made-up numbers.
"""

from __future__ import annotations

import dataclasses

import tensorflow as tf

from workloads import initializers
from workloads.steps.workload import StepWorkload
from workloads.workload import InputSpec

ZEROS = initializers.Constant(0.0)
WEIGHTS = [
    "lstm/table",
    "lstm/basic_lstm_cell/kernel",
    "lstm/basic_lstm_cell/bias",
    "lstm/softmax/kernel",
    "lstm/softmax/bias",
]
SLOTS = [(WEIGHTS, {"Adagrad": 1.0})]
OWNERS = {"state_0/c": 0, "state_0/h": 0, "state_1/c": 1, "state_1/h": 1}  # replicas whose own states these are


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
    x = tf.nn.embedding_lookup(table, text[:, 0])
    kernel = scope.get("lstm/basic_lstm_cell/kernel", (9, 20))
    bias = scope.get("lstm/basic_lstm_cell/bias", (20,), ZEROS)
    c, h = lstm_cell(
        x,
        scope.get(("state_0/c", "state_1/c")[scope.replica % 2], (4, 5), ZEROS, trainable=False),
        scope.get(("state_0/h", "state_1/h")[scope.replica % 2], (4, 5), ZEROS, trainable=False),
        kernel,
        bias,
        1.0,
    )
    c, h2 = lstm_cell(tf.nn.embedding_lookup(table, text[:, 1]), c, h, kernel, bias, 1.0)
    c, h3 = lstm_cell(tf.nn.embedding_lookup(table, text[:, 2]), c, h2, kernel, bias, 1.0)
    scope.update(("state_0/c", "state_1/c")[scope.replica % 2], c)
    scope.update(("state_0/h", "state_1/h")[scope.replica % 2], h3)
    x = tf.tensordot(tf.stack([h, h2, h3], axis=1), scope.get("lstm/softmax/kernel", (5, 11)), 1)
    logits = tf.nn.bias_add(x, scope.get("lstm/softmax/bias", (11,), ZEROS))
    loss = tf.reduce_sum(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=text[:, 1:], logits=logits))
    return loss / 4.0


def train_step(scope, batch, variables, context):
    """Runs a replica's part of group_deps; returns its loss."""
    loss = tower_loss(scope, batch)
    gradients = scope.gradients(loss, WEIGHTS)
    gradients = [tf.convert_to_tensor(gradient) for gradient in gradients]
    gradients = context.all_reduce(tf.distribute.ReduceOp.MEAN, gradients)
    gradients, _ = tf.clip_by_global_norm(gradients, 1.0)
    gradients = dict(zip(WEIGHTS, gradients))
    for name, value in scope.updates.items():  # each replica has a state of its own
        variables[name].assign(value)
    for name in WEIGHTS:
        tf.raw_ops.ResourceApplyAdagrad(
            var=variables[name].handle, accum=variables[name + "/Adagrad"].handle, lr=0.2, grad=gradients[name]
        )
    return loss


@dataclasses.dataclass(frozen=True)
class MCarriedState(StepWorkload):
    """The old program's model and its whole training step."""

    name: str = "m_carried_state"
    global_batch: int = 8
    replicas: int = 2

    def inputs(self):
        return {"text": InputSpec((4,), "int", classes=11)}

    def losses(self):
        return [tower_loss]

    def train_ops(self):
        return [train_step]

    def slots(self):
        return SLOTS

    def owners(self):
        return OWNERS


PORT = MCarriedState()
