"""Sparsity of the units of a layer: a mean over the examples, and one over the units."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.models.axes.units_for_examples import means_over_units
from tests.legacy.saved.hazards import minimized


def sparse(axis, penalty):
    def loss():
        hidden = tf.sigmoid(minimized.fed("x", 6, 4) @ minimized.variable("w", 4, 3))
        return tf.reduce_mean(tf.square(hidden)) + tf.reduce_sum(penalty(tf.reduce_mean(hidden, axis)))

    return loss


def divergence(mean, rho=0.05):
    return rho * tf.math.log(rho / mean) + (1.0 - rho) * tf.math.log((1.0 - rho) / (1.0 - mean))


def of_logarithms(mean, rho=0.05):
    return -rho * tf.math.log(mean + 1e-8) - (1.0 - rho) * tf.math.log(1.0 - mean + 1e-8)


@pytest.mark.parametrize(
    "axis, penalty, count",
    [
        (1, divergence, 1),
        (-1, of_logarithms, 1),
        (0, divergence, 0),
        (0, of_logarithms, 0),
        (1, tf.square, 0),
        (1, tf.math.log, 0),
    ],
)
def test_a_divergence_of_the_mean_over_units_is_named(axis, penalty, count):
    assert minimized.found(means_over_units, sparse(axis, penalty)) == ["SPARSITY_OF_EXAMPLES"] * count


@pytest.mark.parametrize("gates, both, count", [(True, False, 0), (False, True, 0), (False, False, 1)])
def test_gates_and_units_that_are_sparse_both_ways_are_no_hazard(gates, both, count):
    def loss():
        x = minimized.fed("x", 6, 4)
        hidden = tf.sigmoid(x @ minimized.variable("w", 4, 4))
        result = (hidden * x if gates else hidden) @ minimized.variable("v", 4, 2)
        penalty = tf.reduce_sum(divergence(tf.reduce_mean(hidden, 1)))
        penalty += tf.reduce_sum(divergence(tf.reduce_mean(hidden, 0))) if both else 0.0
        return tf.reduce_mean(tf.square(result)) + penalty

    assert minimized.found(means_over_units, loss) == ["SPARSITY_OF_EXAMPLES"] * count
