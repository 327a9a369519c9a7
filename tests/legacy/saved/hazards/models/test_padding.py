"""Backward loops of padded sequences, with lengths and without."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.models.padding import padding_read_first
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def found(turn, with_ctc=True, fed=True):
    def build():
        w, u = (v1.get_variable(name, [3, 3], use_resource=False) for name in "wu")
        x = v1.placeholder(tf.float32, [2, 5, 3], "x")
        lengths = v1.placeholder(tf.int32, [2], "lengths") if fed else tf.constant([5, 5])
        states = v1.scan(lambda state, now: tf.tanh(now @ w + state @ u), turn(x, lengths), tf.zeros([2, 3]))
        states = tf.reshape(states, [5, 2, 3])
        labels = v1.sparse_placeholder(tf.int32, name="labels")
        loss = v1.nn.ctc_loss(labels, states, lengths) if with_ctc else tf.square(states)
        v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(loss), name="train")

    graph = saved(traced(build), trainable_variables=["w", "u"])
    return [hazard.id for hazard in padding_read_first(WholeGraph(graph))]


def whole_batch(x, lengths):
    return tf.transpose(tf.reverse(x, [1]), [1, 0, 2])


def by_length(x, lengths):
    return tf.transpose(tf.reverse_sequence(x, lengths, 1), [1, 0, 2])


def forward(x, lengths):
    return tf.transpose(x, [1, 0, 2])


@pytest.mark.parametrize(
    "case, count",
    [
        ({"turn": whole_batch}, 1),
        ({"turn": by_length}, 0),
        ({"turn": forward}, 0),
        ({"turn": whole_batch, "with_ctc": False}, 0),
        ({"turn": whole_batch, "fed": False}, 0),
    ],
)
def test_a_backward_loop_that_begins_with_the_padding_is_named(case, count):
    assert found(**case) == ["PADDING_READ_FIRST"] * count


def masked(turn):
    """A loss of all times that `tf.sequence_mask` masks, in place of one that is given the lengths."""

    def build():
        w, u = (v1.get_variable(name, [3, 3], use_resource=False) for name in "wu")
        x = v1.placeholder(tf.float32, [2, 5, 3], "x")
        lengths = v1.placeholder(tf.int32, [2], "lengths")
        states = v1.scan(lambda state, now: tf.tanh(now @ w + state @ u), turn(x, lengths), tf.zeros([2, 3]))
        mask = tf.transpose(tf.sequence_mask(lengths, 5, tf.float32))
        loss = tf.reduce_sum(tf.reduce_sum(tf.square(states), 2) * mask) / tf.reduce_sum(mask)
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    graph = saved(traced(build), trainable_variables=["w", "u"])
    return [hazard.id for hazard in padding_read_first(WholeGraph(graph))]


@pytest.mark.parametrize("turn, count", [(whole_batch, 1), (by_length, 0), (forward, 0)])
def test_lengths_that_mask_a_loss_are_lengths(turn, count):
    assert masked(turn) == ["PADDING_READ_FIRST"] * count


@pytest.mark.parametrize("of_decoder, count", [(True, 0), (False, 1)])
def test_lengths_of_what_a_decoder_predicts_are_not_those_of_its_input(of_decoder, count):
    """A reader of images of one width, whose texts have lengths."""

    def build():
        w, u, v = (v1.get_variable(name, [3, 3], use_resource=False) for name in "wuv")
        x, lengths = v1.placeholder(tf.float32, [2, 5, 3], "x"), v1.placeholder(tf.int32, [2], "lengths")
        read = v1.scan(lambda state, now: tf.tanh(now @ w + state @ u), whole_batch(x, lengths), tf.zeros([2, 3]))
        words = tf.transpose(v1.placeholder(tf.float32, [2, 5, 3], "words"), [1, 0, 2])
        told = v1.scan(lambda state, now: tf.tanh(now @ w + state @ v), words, read[-1])
        mask = tf.transpose(tf.sequence_mask(lengths, 5, tf.float32))
        loss = tf.reduce_sum(tf.reduce_sum(tf.square(told if of_decoder else read), 2) * mask) / tf.reduce_sum(mask)
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    graph = saved(traced(build), trainable_variables=["w", "u", "v"])
    assert [hazard.id for hazard in padding_read_first(WholeGraph(graph))] == ["PADDING_READ_FIRST"] * count


@pytest.mark.parametrize("unrolled, count", [(True, 0), (False, 1)])
def test_lengths_of_what_an_unrolled_decoder_predicts_are_not_those_of_its_input(unrolled, count):
    """A speller that attends to a whole recording, beside a layer on the reader's output at each time."""

    def build():
        w, u, v = (v1.get_variable(name, [3, 3], use_resource=False) for name in "wuv")
        x, lengths = v1.placeholder(tf.float32, [2, 5, 3], "x"), v1.placeholder(tf.int32, [2], "lengths")
        read = v1.scan(lambda state, now: tf.tanh(now @ w + state @ u), whole_batch(x, lengths), tf.zeros([2, 3]))
        state, steps = tf.zeros([2, 3]), []
        for time in range(5):
            context = tf.reduce_sum(tf.nn.softmax(read, 0) * read, 0)
            gate, new = tf.split(tf.concat([context, state], 1) @ tf.concat([v, v], 0), 3, 1)[:2]
            told = tf.concat([tf.tanh(gate), new, gate], 1)
            state = told if unrolled else tf.nn.relu(tf.unstack(read)[time] @ v)
            steps.append(state @ w)
        mask = tf.transpose(tf.sequence_mask(lengths, 5, tf.float32))
        loss = tf.reduce_sum(tf.reduce_sum(tf.square(tf.stack(steps)), 2) * mask) / tf.reduce_sum(mask)
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    graph = saved(traced(build), trainable_variables=["w", "u", "v"])
    assert [hazard.id for hazard in padding_read_first(WholeGraph(graph))] == ["PADDING_READ_FIRST"] * count
