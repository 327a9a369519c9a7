"""Sums of squared errors to given data, beside those of other differences and of the data."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.signs.errors_of_targets import errors_of_targets
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.saved.hazards import minimized

v1 = tf.compat.v1


@pytest.mark.parametrize(
    "square, answer",
    [
        (lambda x, y: tf.square(x - y), True),
        (lambda x, y: tf.math.squared_difference(y, x), True),
        (lambda x, y: tf.square(x - 2.0 * y), True),
        (lambda x, y: tf.square(y), False),
        (lambda x, y: tf.square(x - tf.reverse(x, [0])), False),
    ],
)
def test_errors_to_given_data(square, answer):
    def build():
        x = minimized.fed("x", 8, 4) @ minimized.variable("w", 4, 3)
        total = tf.add(tf.reduce_sum(square(x, minimized.fed("y", 8, 3)), 1), 1e-8, name="total")
        v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(total) + tf.reduce_sum(x), name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w"]))
    assert errors_of_targets(whole, ["total"]) == [answer]
