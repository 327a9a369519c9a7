"""Masks that compare positions with their own number."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.lengths.full_masks import masks_of_all_positions
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def rows(lengths, number):
    """The positions of each example, [batch, n]."""
    return tf.tile(tf.expand_dims(tf.range(number), 0), tf.stack([tf.shape(lengths)[0], 1]))


def named(mask):
    """[id, op] of what is found in an attention whose scores have a mask, `mask(lengths, scores)`."""

    def build():
        w = v1.get_variable("w", [3, 1], use_resource=False)
        x, lengths = v1.placeholder(tf.float32, [4, None, 3], "x"), v1.placeholder(tf.int32, [4], "lengths")
        scores = tf.squeeze(tf.tensordot(x, w, 1), [2])
        weights = tf.nn.softmax(scores) * tf.cast(mask(lengths, scores), tf.float32)
        loss = tf.reduce_mean(tf.square(tf.einsum("bt,btd->bd", weights, x)))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w"]))
    return [(hazard.id, hazard.op) for hazard in masks_of_all_positions(whole)]


def by_longest(compare, exchanged=False):
    def mask(lengths, scores):
        number = tf.reduce_max(lengths)
        inputs = [rows(lengths, number), number]
        return compare(*(inputs[::-1] if exchanged else inputs), name="mask")

    return mask


def of_scores(lengths, scores):
    number = tf.shape(scores)[1]
    return tf.less(tf.cast(tf.range(number), tf.float32), tf.cast(tf.identity(number), tf.float32), name="mask")


@pytest.mark.parametrize(
    "mask",
    [by_longest(tf.less), by_longest(tf.greater, exchanged=True), by_longest(tf.greater_equal), of_scores],
)
def test_positions_are_compared_with_their_number(mask):
    assert named(mask) == [("MASK_OF_ALL_POSITIONS", "mask")]


@pytest.mark.parametrize(
    "mask",
    [
        lambda lengths, scores: tf.sequence_mask(lengths),
        lambda lengths, scores: tf.less(rows(lengths, tf.reduce_max(lengths)), tf.expand_dims(lengths, 1)),
        lambda lengths, scores: tf.less(tf.range(tf.shape(scores)[1]), tf.reduce_max(lengths)),
        lambda lengths, scores: tf.less(tf.range(tf.shape(scores)[1]), tf.shape(scores)[1] - 1),
        lambda lengths, scores: tf.less_equal(tf.range(tf.shape(scores)[1]) + 1, tf.shape(scores)[1]),
        by_longest(tf.less, exchanged=True),
    ],
    ids=["sequence_mask", "by hand", "another number", "without the last", "from one", "no position"],
)
def test_positions_that_are_compared_with_lengths_are_fine(mask):
    assert named(mask) == []
