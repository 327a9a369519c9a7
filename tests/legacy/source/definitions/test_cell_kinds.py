"""Kinds of recurrent cells by their gates."""

import pytest
import tensorflow as tf

from legacy.source.definitions.cell_kinds import cell_kind

v1 = tf.compat.v1
UNITS = 3


def old_gru(x, state, weights):
    """The cell of a translation model of 2016, which weights its candidate by the gate."""
    gate, reset = tf.sigmoid(x @ weights + state), tf.sigmoid(x - state)
    return (1.0 - gate) * state + gate * tf.tanh(x + reset * state)


def gru(x, state, weights):
    update, reset = tf.split(tf.sigmoid(tf.concat([x, state], 1)), 2, 1)
    return update * state + (1.0 - update) * tf.tanh(x @ weights + reset * state)


def lstm(x, state, weights):
    i, f, o = tf.sigmoid(x), tf.sigmoid(x @ weights), tf.sigmoid(x - state)
    return o * tf.tanh(f * state + i * tf.tanh(state))


@pytest.mark.parametrize(
    "kind, cells",
    [
        ("gru", [gru]),
        ("gru", [gru, gru]),  # four sigmoids and two tangents are no LSTM
        ("gru", [old_gru, old_gru]),
        ("lstm", [lstm]),
        ("lstm", [lstm, lstm]),
        ("rnn", [lambda x, state, weights: tf.tanh(x @ weights + state)]),
        ("rnn", [lambda x, state, weights: tf.tanh(x @ weights) * tf.sigmoid(x) + state]),
        ("loop", [lambda x, state, weights: x @ weights + state]),
    ],
)
def test_a_cell_is_named_by_what_it_does_with_its_gates(kind, cells):
    with tf.Graph().as_default() as graph:
        x, weights = v1.placeholder(tf.float32, [2, UNITS]), v1.placeholder(tf.float32, [UNITS, UNITS])
        for cell in cells:
            x = cell(x, v1.placeholder(tf.float32, [2, UNITS]), weights)
    assert cell_kind(graph.get_operations()) == kind
