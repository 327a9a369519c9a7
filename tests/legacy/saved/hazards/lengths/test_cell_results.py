"""Logits that are an RNN's results, each with a twin whose logits are not bounded."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.lengths.cell_results import cells_for_logits
from tests.legacy.saved.hazards import minimized

v1 = tf.compat.v1
TIMES, CLASSES, EXAMPLES = 4, 3, 2


def gates(inputs, state, number):
    with v1.variable_scope("cell", reuse=v1.AUTO_REUSE):
        w = minimized.variable(f"w{number}", 2 * CLASSES, number * CLASSES)
        return tf.split(tf.matmul(tf.concat([inputs, state], 1), w), number, 1)


def gru(inputs, state):
    keep, change = tf.split(tf.sigmoid(tf.concat(gates(inputs, state, 2), 1)), 2, 1)
    (new,) = gates(inputs, keep * state, 1)
    return change * state + (1.0 - change) * tf.tanh(new)


def lstm(inputs, state):
    """Without a memory, which the output does not show."""
    i, j, o = gates(inputs, state, 3)
    return tf.tanh(tf.sigmoid(i) * tf.tanh(j)) * tf.sigmoid(o)


def highway(inputs, state):
    change = tf.sigmoid(gates(inputs, state, 2)[0])
    return change * inputs + (1.0 - change) * tf.tanh(gates(inputs, state, 1)[0])


def no_blend(inputs, state):
    """The other share is not 1 less the gate."""
    change = tf.sigmoid(gates(inputs, state, 2)[0])
    return change * state + (2.0 - change) * tf.tanh(gates(inputs, state, 1)[0])


def in_a_loop(cell, start, ends=False):
    inputs = v1.TensorArray(tf.float32, TIMES).unstack(minimized.fed("x", TIMES, EXAMPLES, CLASSES))

    def step(time, state, outputs):
        new = given = cell(inputs.read(time), state)
        if ends:
            over = time >= minimized.fed("lengths", EXAMPLES, dtype=tf.int32)
            new, given = v1.where(over, state, new), v1.where(over, tf.zeros_like(new), new)
        return time + 1, new, outputs.write(time, given)

    first = (0, start, v1.TensorArray(tf.float32, TIMES))
    return tf.while_loop(lambda time, *_: time < TIMES, step, first)[2].stack()


def in_a_loop_with_lengths(cell, start):
    return in_a_loop(cell, start, ends=True)


def unrolled(cell, start):
    outputs, state = [], start
    for inputs in tf.unstack(minimized.fed("x", TIMES, EXAMPLES, CLASSES)):
        state = cell(inputs, state)
        outputs.append(state)
    return tf.stack(outputs)


def named(run, cell, behind=tf.identity, start=None):
    """The hazards of a program whose logits are what `behind` makes of a cell's outputs."""

    def loss():
        zeros = tf.zeros([EXAMPLES, CLASSES])
        logits = behind(run(cell, zeros if start is None else start()))
        labels = minimized.fed("labels", TIMES, EXAMPLES, dtype=tf.int32)
        return tf.reduce_mean(v1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name="loss"))

    return list(cells_for_logits(WholeGraph(minimized.minimizing(loss))))


RUNS = (in_a_loop, in_a_loop_with_lengths, unrolled)


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("cell, count", [(gru, 1), (lstm, 1), (highway, 0), (no_blend, 0)])
def test_the_results_of_a_cell_as_logits_are_named(run, cell, count):
    hazards = named(run, cell)
    assert [hazard.id for hazard in hazards] == ["LOGITS_ACTIVATED"] * count
    assert all("all are between -1 and 1" in hazard.description for hazard in hazards)


@pytest.mark.parametrize(
    "behind, count",
    [
        (lambda outputs: tf.concat([outputs[:2], tf.zeros([2, EXAMPLES, CLASSES])], 0), 1),  # up to the longest length
        (lambda outputs: tf.einsum("tbi,ij->tbj", outputs, minimized.variable("dense", CLASSES, CLASSES)), 0),
        (lambda outputs: outputs + minimized.variable("bias", CLASSES), 0),
        (lambda outputs: outputs * 30.0, 0),
        (lambda outputs: outputs * minimized.variable("scale", CLASSES), 0),
        (lambda outputs: tf.concat([outputs[:2], minimized.fed("others", 2, EXAMPLES, CLASSES)], 0), 0),
    ],
)
def test_what_is_behind_the_cell_may_make_other_logits(behind, count):
    assert len(named(in_a_loop, gru, behind)) == count


@pytest.mark.parametrize("run", RUNS)
def test_a_state_that_begins_with_a_layers_results_may_be_larger(run):
    def layer():
        return tf.matmul(minimized.fed("y", EXAMPLES, 2), minimized.variable("v", 2, CLASSES))

    assert not named(run, gru, start=layer)
    assert len(named(run, gru, start=lambda: tf.tanh(layer()))) == 1
    assert len(named(run, lstm, start=layer)) == 1  # its output is a product of bounded factors, whatever the state
