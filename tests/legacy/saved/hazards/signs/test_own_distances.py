"""Squared distances of all rows to each other, by norms and products."""

import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.signs.own_distances import rows_of_own_distances
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.saved.hazards.minimized import fed


def squared_distances(one, other, name):
    products = tf.matmul(one, other, transpose_b=True)
    squares = tf.reduce_sum(tf.square(one), 1)[:, tf.newaxis], tf.reduce_sum(tf.square(other), 1)[tf.newaxis]
    return tf.maximum(squares[0] - 2.0 * products + squares[1], 0.0, name=name)


def test_rows_of_their_own_distances_and_of_others():
    def build():
        x, y = fed("x", 8, 4), fed("y", 8, 4)
        squared_distances(x, x, "own")
        squared_distances(x, y, "others")
        tf.add(tf.matmul(x, x, transpose_b=True), 1.0, name="products")

    whole = WholeGraph(saved(traced(build)))
    own = rows_of_own_distances(whole, "own")
    assert own is not None and own.node == "x"
    assert rows_of_own_distances(whole, "others") is None and rows_of_own_distances(whole, "products") is None
