"""Sequences that are reversed along their times, and along the examples of the batch."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.lengths.turned_examples import examples_turned
from legacy.saved.hazards.lengths.turned_outputs import outputs_not_turned_back
from tests.legacy.saved.hazards import minimized
from tests.legacy.saved.hazards.lengths.test_turned_outputs import EXAMPLES, TIMES, UNITS, by_position, rnn

v1 = tf.compat.v1


def read(axis, batch_major):
    def loss():
        x = minimized.fed("x", EXAMPLES, TIMES, UNITS)
        turned = tf.reverse(x, [axis]) if batch_major else tf.transpose(tf.transpose(x, [1, 0, 2]), [1, 0, 2])
        return tf.reduce_mean(tf.square(tf.concat([rnn("fw", x), rnn("bw", turned)], 2)))  # rnn() has times first

    return loss


def last_state(name, x):
    inputs, w = v1.TensorArray(tf.float32, TIMES).unstack(x), minimized.variable(name, UNITS, UNITS)

    def step(time, state):
        return time + 1, tf.tanh(tf.matmul(state + inputs.read(time), w))

    return tf.while_loop(lambda time, _: time < TIMES, step, (0, tf.zeros([2, UNITS])))[1]


def times_first(axis):
    def loss():
        x = minimized.fed("x", TIMES, 2, UNITS)
        ends = tf.concat([last_state("fw", x), last_state("bw", tf.reverse(x, [axis]))], 1)
        return tf.reduce_mean(tf.square(ends))

    return loss


@pytest.mark.parametrize(
    "loss, count",
    [(read(0, True), 1), (read(1, True), 0), (times_first(1), 1), (times_first(0), 0), (read(0, False), 0)],
)
def test_a_sequence_that_is_reversed_along_the_examples_is_named(loss, count):
    assert minimized.found(examples_turned, loss) == ["REVERSED_ALONG_EXAMPLES"] * count


def test_the_outputs_of_reversed_examples_have_the_order_of_times():
    def loss():
        x = minimized.fed("x", EXAMPLES, TIMES, UNITS)
        backward = tf.reverse(rnn("bw", tf.reverse(x, [0])), [0])
        return tf.reduce_mean(tf.square(by_position(tf.concat([rnn("fw", x), backward], 2))))

    assert minimized.found(outputs_not_turned_back, loss) == []


def test_reversed_examples_may_be_negatives_of_one_rnn():
    def loss():
        x = minimized.fed("x", EXAMPLES, TIMES, UNITS)
        with v1.variable_scope("encoder", reuse=v1.AUTO_REUSE):
            own, other = rnn("fw", x), rnn("fw", tf.reverse(x, [0]))
        anchors = minimized.fed("anchors", EXAMPLES, TIMES, UNITS)
        return tf.reduce_mean(tf.nn.relu(0.2 - tf.reduce_sum(anchors * own, 2) + tf.reduce_sum(anchors * other, 2)))

    assert minimized.found(examples_turned, loss) == []
