"""Losses from which squares are subtracted, beside those with a bound or another sign."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.losses.unbounded import subtracted_squares
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def found(loss):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        near, far = (v1.placeholder(tf.float32, [8, 4], name) @ w for name in ("near", "far"))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss(near, far), name="train")

    return [hazard.id for hazard in subtracted_squares(WholeGraph(saved(traced(build), trainable_variables=["w"])))]


def mean_square(values):
    return tf.reduce_mean(tf.square(values))


@pytest.mark.parametrize(
    "loss, count",
    [
        (lambda near, far: mean_square(near) - mean_square(near - far), 1),
        (lambda near, far: tf.reduce_mean(tf.square(near) - tf.math.squared_difference(near, far) + 1.0), 1),
        (lambda near, far: tf.reduce_mean(tf.maximum(tf.square(near) - tf.square(near - far) + 1.0, 0.0)), 0),
        (lambda near, far: mean_square(near) - mean_square(tf.tanh(near - far)), 0),
        (lambda near, far: mean_square(near) + mean_square(near - far), 0),
        (lambda near, far: mean_square(near) - mean_square(tf.stop_gradient(near - far)), 0),
    ],
)
def test_subtracted_squares_are_named(loss, count):
    assert found(loss) == ["LOSS_WITHOUT_BOUND"] * count


def ratio(x, y, scale=1.0):
    return tf.math.log(scale / (tf.reduce_mean(tf.math.squared_difference(x, y), 1) + 1e-8))


@pytest.mark.parametrize(
    "loss, count",
    [
        (lambda x, y: ratio(x, y), 1),
        (lambda x, y: -tf.math.log(tf.reduce_mean(tf.square(x - y))), 1),
        (lambda x, y: -ratio(x, y), 0),
        (lambda x, y: tf.math.log(tf.reduce_mean(tf.square(x - y)) + 1e-6), 0),  # a likelihood
        (lambda x, y: ratio(tf.sigmoid(x), y), 0),  # bounded
    ],
)
def test_the_logarithm_of_an_error_that_may_grow_without_end_is_named(loss, count):
    def build():
        w, x = v1.get_variable("w", [4, 3], use_resource=False), v1.placeholder(tf.float32, [8, 4], "x")
        total = tf.reduce_mean(loss(x @ w, v1.placeholder(tf.float32, [8, 3], "y")))
        v1.train.GradientDescentOptimizer(0.5).minimize(total, name="train")

    found = subtracted_squares(WholeGraph(saved(traced(build), trainable_variables=["w"])))
    assert [hazard.id for hazard in found] == ["LOSS_WITHOUT_BOUND"] * count
