"""Attention weights over the positions of all examples in one row, and over those of each example."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.models.shares.over_joined_positions import shares_over_joined_positions
from tests.legacy.saved.hazards import minimized


def pooled(softmax, batch=3):
    """Words pooled by a score of each, of which `softmax` makes shares, one for each of five words."""

    def loss():
        x = minimized.fed("x", batch, 5, 4)
        scores = tf.matmul(tf.reshape(x, [-1, 4]), minimized.variable("score", 4, 1))
        shares = tf.reshape(softmax(scores), [-1, 5, 1])
        return tf.reduce_mean(tf.square(tf.matmul(tf.reduce_sum(x * shares, 1), minimized.variable("w", 4, 2))))

    return minimized.found_by_analysis(shares_over_joined_positions, loss)


def as_before_1_5(scores):
    """A softmax of a vector in a matrix whose sizes the graph computes."""
    last = tf.slice(tf.shape(tf.squeeze(scores, 1)), [0], [1])
    rows = tf.reshape(scores, tf.concat([[-1], last], 0))
    return tf.reshape(tf.nn.softmax(tf.ensure_shape(rows, [None, 15])), [15])


@pytest.mark.parametrize(
    "softmax, count",
    [
        (lambda scores: tf.nn.softmax(tf.squeeze(scores, 1)), 1),
        (lambda scores: tf.nn.softmax(tf.reshape(scores, [1, -1])), 1),
        (as_before_1_5, 1),
        (lambda scores: tf.nn.softmax(tf.reshape(scores, [-1, 5])), 0),
    ],
)
def test_a_softmax_over_all_examples_positions_is_named(softmax, count):
    assert pooled(softmax) == ["SOFTMAX_OVER_EXAMPLES"] * count


def test_one_example_has_one_row():
    assert pooled(lambda scores: tf.nn.softmax(tf.squeeze(scores, 1)), batch=1) == []


def test_a_bag_of_examples_is_added_up_as_a_whole():
    """As instances of one patient, whose shares are cut into no rows."""

    def loss():
        x = minimized.fed("x", 6, 4)
        shares = tf.nn.softmax(tf.squeeze(tf.matmul(x, minimized.variable("score", 4, 1)), 1))
        bag = tf.reduce_sum(x * tf.reshape(shares, [6, 1]), 0, keepdims=True)
        return tf.reduce_mean(tf.square(tf.matmul(bag, minimized.variable("w", 4, 2))))

    assert minimized.found_by_analysis(shares_over_joined_positions, loss) == []
