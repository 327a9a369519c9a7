"""RNNs of one step of time, which begin with zeros, beside longer ones and those with a state of their own."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.lengths.single_steps import loops_of_one_step
from tests.legacy.saved.hazards.minimized import fed, found_by_analysis, variable

v1 = tf.compat.v1
EXAMPLES, UNITS = 4, 3


def outputs_of(times, features, start):
    """The outputs [time, batch, units] of a loop over [batch, time, features] inputs."""
    w = variable("w", features + UNITS, UNITS)
    inputs = tf.transpose(fed("x", EXAMPLES, times, features), [1, 0, 2])
    length = tf.shape(inputs)[0]
    array = v1.TensorArray(tf.float32, length).unstack(inputs)

    def step(time, state, outputs):
        new = tf.tanh(tf.concat([array.read(time), state], 1) @ w)
        return time + 1, new, outputs.write(time, new)

    loop = (0, start(), v1.TensorArray(tf.float32, length))
    return tf.while_loop(lambda time, *_: time < length, step, loop, name="rnn/while")[2].stack()


def zeros():
    return tf.zeros([EXAMPLES, UNITS])


@pytest.mark.parametrize(
    "times, start, count",
    [
        (1, zeros, 1),
        (1, lambda: tf.zeros(tf.stack([EXAMPLES, UNITS])), 1),
        (5, zeros, 0),
        (None, zeros, 0),
        (1, lambda: fed("state", EXAMPLES, UNITS), 0),
        (1, lambda: tf.tanh(fed("seen", EXAMPLES, 2) @ variable("begin", 2, UNITS)), 0),
    ],
)
def test_an_rnn_of_one_step_is_named(times, start, count):
    def total():
        outputs = outputs_of(times, 2, start)
        return tf.reduce_mean(tf.square(tf.reduce_mean(outputs, 0) - fed("labels", EXAMPLES, UNITS)))

    assert found_by_analysis(loops_of_one_step, total) == ["RNN_OF_ONE_STEP"] * count
