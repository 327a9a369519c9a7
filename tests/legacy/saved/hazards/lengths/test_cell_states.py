"""The memory and the output of an LSTM, in a loop and step by step, as what a loss takes."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.lengths.cell_states import memories_for_outputs
from tests.legacy.saved.hazards import minimized

v1 = tf.compat.v1
TIMES, UNITS, EXAMPLES = 5, 3, 2


def cell(inputs, memory, output):
    with v1.variable_scope("cell", reuse=v1.AUTO_REUSE):
        gates = tf.matmul(tf.concat([inputs, output], 1), minimized.variable("w", 2 * UNITS, 4 * UNITS))
    i, j, f, o = tf.split(gates, 4, 1)
    memory = memory * tf.sigmoid(f) + tf.sigmoid(i) * tf.tanh(j)
    return memory, tf.tanh(memory) * tf.sigmoid(o)


def in_a_loop(ends):
    """(memory, output, stacked outputs); examples that have ended keep their states."""
    inputs = v1.TensorArray(tf.float32, TIMES).unstack(minimized.fed("x", TIMES, EXAMPLES, UNITS))

    def step(time, memory, output, outputs):
        new, given = cell(inputs.read(time), memory, output)
        if ends:
            over = time >= minimized.fed("lengths", EXAMPLES, dtype=tf.int32)
            new, given = v1.where(over, memory, new), v1.where(over, output, given)
        return time + 1, new, given, outputs.write(time, given)

    zeros = tf.zeros([EXAMPLES, UNITS])
    start = (0, zeros, zeros, v1.TensorArray(tf.float32, TIMES))
    _, memory, output, outputs = tf.while_loop(lambda time, *_: time < TIMES, step, start)
    return memory, output, outputs.stack()


def unrolled():
    memory = output = tf.zeros([EXAMPLES, UNITS])
    outputs = []
    for inputs in tf.unstack(minimized.fed("x", TIMES, EXAMPLES, UNITS)):
        memory, output = cell(inputs, memory, output)
        outputs.append(output)
    return memory, output, tf.stack(outputs)


@pytest.mark.parametrize("run", [lambda: in_a_loop(False), lambda: in_a_loop(True), unrolled])
@pytest.mark.parametrize(
    "take, count",
    [
        (lambda memory, output, outputs: memory, 1),
        (lambda memory, output, outputs: output, 0),
        (lambda memory, output, outputs: tf.concat([memory, output], 1), 0),
        (lambda memory, output, outputs: memory + tf.reduce_mean(outputs, 0), 0),  # as of a decoder with attention
    ],
)
def test_a_loss_of_the_memory_alone_is_named(run, take, count):
    def loss():
        return tf.reduce_mean(tf.square(take(*run())))

    assert minimized.found(memories_for_outputs, loss) == ["MEMORY_FOR_OUTPUT"] * count


@pytest.mark.parametrize("run", [lambda: in_a_loop(False), unrolled])
def test_features_of_the_memory_are_meant(run):
    def loss():
        return tf.reduce_mean(tf.square(tf.tanh(run()[0]) @ minimized.variable("v", UNITS, 2)))

    assert minimized.found(memories_for_outputs, loss) == []


def test_the_memory_may_begin_that_of_a_decoder():
    def loss():
        memory = in_a_loop(False)[0]
        decoder = minimized.variable("decoder", UNITS, UNITS)

        def step(time, state):
            return time + 1, tf.sigmoid(tf.matmul(state, decoder)) * state

        return tf.reduce_mean(tf.square(tf.while_loop(lambda time, _: time < TIMES, step, (0, memory))[1]))

    assert minimized.found(memories_for_outputs, loss) == []
