"""Decoders that read their targets, and rows in another order than their labels, beside those that are right."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.data.words import rows_in_another_order, targets_are_inputs
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1
NAMES = ["table", "w", "u"]


def variables():
    return [v1.get_variable(name, shape, use_resource=False) for name, shape in zip(NAMES, ([7, 4], [8, 4], [4, 7]))]


def entropy(labels, logits):
    loss = v1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(loss), name="train")


def loop(inputs, w):
    """The outputs of a recurrent loop over [batch, time, features], as of `dynamic_rnn`, with the batch first."""
    inputs = tf.transpose(inputs, [1, 0, 2])
    count = tf.shape(inputs)[0]
    read = tf.TensorArray(tf.float32, count).unstack(inputs)
    written = tf.TensorArray(tf.float32, count)

    def step(time, state, outputs):
        state = tf.tanh(tf.concat([read.read(time), state], 1) @ w)
        return time + 1, state, outputs.write(time, state)

    _, _, outputs = v1.while_loop(lambda time, *_: time < count, step, [0, tf.zeros([3, 4]), written])
    return tf.transpose(outputs.stack(), [1, 0, 2])


def decoder(words, labels, looked_up=tf.gather):
    def build():
        table, w, u = variables()
        ids = v1.placeholder(tf.int32, [3, 6], "ids")
        mask = v1.placeholder(tf.float32, [3, 5, 1], "mask")
        states = loop(looked_up(table, words(ids)) * (mask if looked_up is not tf.gather else 1.0), w)
        entropy(labels(ids), tf.tensordot(states, u, 1))

    return WholeGraph(saved(traced(build), trainable_variables=NAMES))


def first(ids):
    return ids[:, :5]


def shifted(ids):
    return ids[:, 1:]


def after_start(ids):
    return tf.concat([tf.zeros_like(ids[:, :1]), ids[:, :4]], 1)


@pytest.mark.parametrize(
    "words, labels, count",
    [(first, first, 1), (shifted, shifted, 1), (first, shifted, 0), (after_start, first, 0)],
)
def test_a_decoder_that_reads_its_targets_is_named(words, labels, count):
    v1.disable_control_flow_v2()
    found = [hazard.id for hazard in targets_are_inputs(decoder(words, labels))]
    assert found == ["TARGETS_ARE_INPUTS"] * count


def test_words_that_a_mask_leaves_out_may_be_predicted():
    v1.disable_control_flow_v2()
    masked = lambda table, ids: tf.gather(table, ids)  # noqa: E731
    assert list(targets_are_inputs(decoder(first, first, masked))) == []


def unrolled(join, flatten):
    def build():
        table, w, u = variables()
        ids, targets = (v1.placeholder(tf.int32, [3, 5], name) for name in ("ids", "targets"))
        inputs, state, outputs = tf.gather(table, ids), tf.zeros([3, 4]), []
        for time in range(5):
            state = tf.tanh(tf.concat([inputs[:, time], state], 1) @ w)
            outputs.append(state)
        entropy(flatten(targets), tf.reshape(join(outputs), [-1, 4]) @ u)

    graph = saved(traced(build), trainable_variables=NAMES)
    analysis = analyse_graph(graph, "small")
    return [hazard.id for hazard in rows_in_another_order(WholeGraph(graph, analysis), analysis)]


def by_example(targets):
    return tf.reshape(targets, [-1])


def by_time(targets):
    return tf.reshape(tf.transpose(targets), [-1])


@pytest.mark.parametrize(
    "join, flatten, count",
    [
        (lambda outputs: tf.concat(outputs, 0), by_example, 1),
        (tf.stack, lambda targets: tf.reshape(by_example(targets), [-1]), 1),
        (lambda outputs: tf.concat(outputs, 1), by_example, 0),
        (lambda outputs: tf.stack(outputs, 1), by_example, 0),
        (tf.stack, by_time, 0),
        (lambda outputs: tf.transpose(tf.stack(outputs), [1, 0, 2]), by_example, 0),
    ],
)
def test_rows_by_time_beside_labels_by_example_are_named(join, flatten, count):
    assert unrolled(join, flatten) == ["ROWS_IN_ANOTHER_ORDER"] * count
