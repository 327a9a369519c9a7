"""Variational codes whose exp(h) is deviation and variance, beside right ones."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.losses.deviations import deviations_for_variances
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def found(deviation, divergence):
    def build():
        m, s, d = (v1.get_variable(name, [3, 3], use_resource=False) for name in "msd")
        x = v1.placeholder(tf.float32, [8, 3], "x")
        mean, h = x @ m, x @ s
        code = mean + deviation(h) * v1.random_normal([8, 3])
        loss = tf.reduce_mean(tf.square(code @ d - x)) + tf.reduce_mean(tf.reduce_sum(divergence(mean, h), 1))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["m", "s", "d"]))
    return [hazard.id for hazard in deviations_for_variances(whole)]


def of_variance(mean, h):
    return -0.5 * (1.0 + h - tf.square(mean) - tf.exp(h))


def of_deviation(mean, h):
    return -0.5 * (1.0 + 2.0 * h - tf.square(mean) - tf.exp(2.0 * h))


@pytest.mark.parametrize(
    "deviation, divergence, count",
    [
        (tf.exp, of_variance, 1),
        (lambda h: tf.exp(0.5 * h), of_variance, 0),
        (tf.exp, of_deviation, 0),
        (tf.identity, of_variance, 1),
        (lambda h: 0.5 * h, of_variance, 0),  # of no known meaning
    ],
)
def test_a_variance_in_the_place_of_a_deviation_is_named(deviation, divergence, count):
    assert found(deviation, divergence) == ["VARIANCE_FOR_DEVIATION"] * count
    assert found(deviation, lambda mean, h: -divergence(mean, h)) == ["VARIANCE_FOR_DEVIATION"] * count


@pytest.mark.parametrize(
    "deviation, divergence, count",
    [
        (tf.exp, of_variance, 1),
        (lambda h: tf.exp(0.5 * h), of_variance, 0),
        (tf.exp, of_deviation, 0),
    ],
)
@pytest.mark.parametrize("bounds, is_read", [(lambda x: tf.maximum(x, 0.125), True), (lambda x: x**2, False)])
def test_so_is_one_of_a_divergence_with_free_bits(deviation, divergence, count, bounds, is_read):
    hazards = found(deviation, lambda mean, h: bounds(tf.reduce_mean(divergence(mean, h), 0, keepdims=True)))
    assert hazards == ["VARIANCE_FOR_DEVIATION"] * (count if is_read else 0)
