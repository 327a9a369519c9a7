"""Attention weights that add up to one along the queries, or along the keys."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.models.shares.along_queries import shares_along_queries
from tests.legacy.saved.hazards import minimized

v1 = tf.compat.v1


@pytest.mark.parametrize(
    "weigh, count",
    [
        (lambda scores, values: tf.nn.softmax(scores, 1) @ values, 1),
        (lambda scores, values: tf.nn.softmax(scores, -1) @ values, 0),
        (lambda scores, values: tf.matmul(tf.nn.softmax(scores, 1), values, transpose_a=True), 0),
        (lambda scores, values: tf.transpose(tf.nn.relu(scores), [0, 2, 1]) @ values, 0),
    ],
)
def test_a_softmax_along_the_queries_is_named(weigh, count):
    def loss():
        x = minimized.fed("x", 2, 5, 4)
        queries, keys = (tf.tensordot(x, minimized.variable(name, 4, 3), 1) for name in ("q", "k"))
        return tf.reduce_mean(tf.square(weigh(tf.matmul(queries, keys, transpose_b=True) / 2.0, x)))

    assert minimized.found_by_analysis(shares_along_queries, loss) == ["SOFTMAX_OVER_QUERIES"] * count


@pytest.mark.parametrize(
    "scores",
    [
        lambda x, w: tf.tensordot(x, w, 1),  # of each frame by clusters
        lambda x, w: tf.matmul(
            minimized.fed("edges", 2, 5, 5), tf.tensordot(x, w, 1)
        ),  # of each node by its neighbours
    ],
)
def test_shares_of_clusters_are_turned_to_add_up_their_members(scores):
    def loss():
        x = minimized.fed("x", 2, 5, 4)
        shares = tf.nn.softmax(scores(x, minimized.variable("w", 4, 3)))
        members = tf.matmul(tf.transpose(shares, [0, 2, 1]), tf.tensordot(x, minimized.variable("v", 4, 3), 1))
        return tf.reduce_mean(tf.square(members))

    assert minimized.found_by_analysis(shares_along_queries, loss) == []


@pytest.mark.parametrize("axis, drops, count", [(1, False, 1), (1, True, 1), (2, False, 0), (2, True, 0)])
def test_so_is_that_of_a_graphs_edges(axis, drops, count):
    """Scores are the sum of what one layer gives for each node, and another for each neighbour."""

    def loss():
        x, edges = minimized.fed("x", 2, 5, 4), minimized.fed("edges", 2, 5, 5)
        one, other = (tf.tensordot(x, minimized.variable(name, 4, 1), 1) for name in ("to", "from"))
        scores = tf.nn.leaky_relu(one + tf.transpose(other, [0, 2, 1])) - 1e9 * (1.0 - edges)
        weights = tf.nn.softmax(scores, axis)
        if drops:
            weights = weights * 2.0 * tf.cast(v1.random_uniform([2, 5, 5]) >= 0.5, tf.float32)
        return tf.reduce_mean(tf.square(weights @ x))

    assert minimized.found_by_analysis(shares_along_queries, loss) == ["SOFTMAX_OVER_QUERIES"] * count
