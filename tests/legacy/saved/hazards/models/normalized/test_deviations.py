"""Normalizations by the deviation, by the variance, by the root of the deviation, and times the deviation."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.models.normalized.deviations import not_by_the_deviation
from tests.legacy.saved.hazards import minimized

EPSILON = 1e-5


def by_op(of_variance):
    return lambda h, m, v: tf.nn.batch_normalization(h, m, of_variance(v), None, None, EPSILON)


def of_squares(h):
    mean = tf.reduce_mean(h, [0], keepdims=True)
    return mean, tf.reduce_mean(tf.square(h - mean), [0], keepdims=True)


def of_sums(h):
    """As `tf.nn.moments` of TensorFlow 0.12."""
    part = tf.raw_ops.Reciprocal(x=tf.constant(8.0))
    mean = tf.reduce_sum(h, [0], keepdims=True) * part
    return mean, tf.reduce_sum(tf.square(h), [0], keepdims=True) * part - tf.square(mean)


@pytest.mark.parametrize("moments", [lambda h: tf.nn.moments(h, [0], keepdims=True), of_squares, of_sums])
@pytest.mark.parametrize(
    "normalize, count",
    [
        (lambda h, m, v: (h - m) / (v + EPSILON), 1),
        (lambda h, m, v: (h - m) * tf.sqrt(v + EPSILON), 1),
        (lambda h, m, v: (h - m) / tf.sqrt(tf.sqrt(v + EPSILON)), 1),
        (by_op(tf.sqrt), 1),
        (lambda h, m, v: (h - m) / tf.sqrt(v + EPSILON), 0),
        (lambda h, m, v: (h - m) / (tf.sqrt(v) + EPSILON), 0),
        (lambda h, m, v: (h - m) * tf.math.rsqrt(v + EPSILON), 0),
        (by_op(tf.identity), 0),
        (lambda h, m, v: h / (v + EPSILON), 0),  # a weight of what is sure
    ],
)
def test_what_is_not_divided_by_the_deviation_is_named(moments, normalize, count):
    def loss():
        hidden = minimized.fed("x", 8, 4) @ minimized.variable("w", 4, 3)
        return tf.reduce_mean(tf.tanh(normalize(hidden, *moments(hidden))))

    assert minimized.found(not_by_the_deviation, loss) == ["NOT_BY_THE_DEVIATION"] * count


@pytest.mark.parametrize("share, count", [(lambda v: tf.nn.relu(v - 0.1), 0), (lambda v: 0.9, 1)])
def test_a_share_of_the_variance_is_divided_by_the_variance(share, count):
    """As a filter of noise, m + (v - n) / v * (x - m)."""

    def loss():
        hidden = minimized.fed("x", 8, 4) @ minimized.variable("w", 4, 3)
        mean, variance = tf.nn.moments(hidden, [0])
        return tf.reduce_mean(tf.tanh(mean + (hidden - mean) / variance * share(variance)))

    assert minimized.found(not_by_the_deviation, loss) == ["NOT_BY_THE_DEVIATION"] * count


def test_a_division_by_the_reciprocal_deviation_is_told_as_such():
    def loss():
        hidden = minimized.fed("x", 8, 4) @ minimized.variable("w", 4, 3)
        mean, variance = tf.nn.moments(hidden, [0])
        return tf.reduce_mean(tf.tanh((hidden - mean) / tf.math.rsqrt(variance + EPSILON)))

    (hazard,) = not_by_the_deviation(WholeGraph(minimized.minimizing(loss)))
    assert "one over the deviation" in hazard.description


def test_a_squared_distance_is_divided_by_the_variance():
    def loss():
        hidden = minimized.fed("x", 8, 4) @ minimized.variable("w", 4, 3)
        mean, variance = tf.nn.moments(hidden, [0])
        return tf.reduce_mean(tf.tanh((hidden - mean) / variance * (hidden - mean)))

    assert minimized.found(not_by_the_deviation, loss) == []
