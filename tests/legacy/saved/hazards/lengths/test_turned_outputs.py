"""Outputs of a backward RNN that are joined with those of a forward one, in the order of times and in the opposite."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.lengths.turned_outputs import outputs_not_turned_back
from tests.legacy.saved.hazards import minimized

v1 = tf.compat.v1
TIMES, UNITS, EXAMPLES = 5, 3, 2


def rnn(name, sequence):
    inputs = v1.TensorArray(tf.float32, TIMES).unstack(tf.transpose(sequence, [1, 0, 2]))
    w = minimized.variable(name, UNITS, UNITS)

    def step(time, state, outputs):
        new = tf.tanh(tf.matmul(state + inputs.read(time), w))
        return time + 1, new, outputs.write(time, new)

    start = (0, tf.zeros([EXAMPLES, UNITS]), v1.TensorArray(tf.float32, TIMES))
    outputs = tf.while_loop(lambda time, *_: time < TIMES, step, start)[2]
    return tf.transpose(outputs.stack(), [1, 0, 2])


def by_position(joined):
    return tf.reshape(joined, [-1, 2 * UNITS]) @ minimized.variable("head", 2 * UNITS, 2)


def by_lengths(x):
    return tf.reverse_sequence(x, minimized.fed("lengths", EXAMPLES, dtype=tf.int32), seq_axis=1)


def backwards(x):
    return tf.reverse(x, [1])


def same(x):
    return x


@pytest.mark.parametrize(
    "turn, turn_back, take, count",
    [
        (backwards, same, by_position, 1),
        (by_lengths, same, by_position, 1),
        (same, backwards, by_position, 1),
        (backwards, backwards, by_position, 0),
        (by_lengths, by_lengths, by_position, 0),
        (same, same, by_position, 0),
        (backwards, same, lambda joined: joined[:, -1], 0),  # what both have read last
        (backwards, same, lambda joined: tf.reduce_max(joined, 1), 0),
    ],
)
def test_backward_outputs_that_are_not_turned_back_are_named(turn, turn_back, take, count):
    def loss():
        x = minimized.fed("x", EXAMPLES, TIMES, UNITS)
        joined = tf.concat([rnn("fw", x), turn_back(rnn("bw", turn(x)))], 2)
        return tf.reduce_mean(tf.square(take(joined)))

    assert minimized.found(outputs_not_turned_back, loss) == ["OUTPUTS_NOT_TURNED_BACK"] * count


@pytest.mark.parametrize("is_same, count", [(True, 1), (False, 0)])
def test_outputs_of_another_sequence_have_an_order_of_their_own(is_same, count):
    def loss():
        x, other = (minimized.fed(name, EXAMPLES, TIMES, UNITS) for name in ("x", "other"))
        joined = tf.concat([rnn("fw", x), rnn("bw", backwards(x if is_same else other))], 2)
        return tf.reduce_mean(tf.square(by_position(joined)))

    assert minimized.found(outputs_not_turned_back, loss) == ["OUTPUTS_NOT_TURNED_BACK"] * count
