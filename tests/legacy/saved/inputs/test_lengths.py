"""Integers that are lengths of sequences, by the ops that take them."""

import pytest
import tensorflow as tf

from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.inputs.lengths import are_lengths
from tests.legacy.saved.graphs import traced
from tests.legacy.saved.inputs.test_integer_bounds import loop, table
from workloads.lifted.graph import TensorId

v1 = tf.compat.v1


def lengths(use):
    """Whether a placeholder of int32 holds lengths, by what `use` makes of it."""
    graph = traced(lambda: use(v1.placeholder(tf.int32, [4], name="labels")))
    return are_lengths(graph, ImportedGraph(graph), TensorId("labels", 0))


def ctc(taken):
    places = tf.zeros([4, 2], tf.int64)
    tf.raw_ops.CTCLoss(inputs=tf.zeros([7, 4, 6]), labels_indices=places, labels_values=[1] * 4, sequence_length=taken)


def reverse(x):
    return tf.raw_ops.ReverseSequence(input=tf.zeros([4, 8]), seq_lengths=tf.cast(x, tf.int64), seq_dim=1)


@pytest.mark.parametrize(
    "use, expected",
    [
        (reverse, True),
        (lambda x: loop(x, tf.constant(5)), True),
        (lambda x: tf.gather(table(5), x), False),
        (lambda x: tf.sequence_mask(x, 5), True),
        (tf.sequence_mask, True),
        (lambda x: tf.greater(tf.cast(x[:, None], tf.float32), tf.range(5.0)), True),
        (lambda x: tf.greater(tf.range(5), x[:, None]), False),  # what lies behind a place
        (lambda x: tf.less(x, 3), False),  # a class below another one
        (lambda x: tf.less(v1.placeholder(tf.int32, [5], name="times"), x[:, None]), False),
        (lambda x: ctc(tf.cast(tf.math.ceil(tf.cast(x, tf.float32) / 2), tf.int32)), True),
        (lambda x: ctc(x // 2 + 1), True),
        (lambda x: ctc(tf.reduce_sum(tf.one_hot(x, 4, dtype=tf.int32), 0)), False),  # a number of places
    ],
)
def test_lengths_are_what_ends_sequences(use, expected):
    assert lengths(use) == expected
