"""Penalties of absolute weights, and sums of weights with their signs."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.penalties.magnitudes import sums_of_weights
from tests.legacy.saved.hazards import minimized

v1 = tf.compat.v1


@pytest.mark.parametrize(
    "penalty, sizes, count",
    [
        (tf.reduce_sum, (4, 3), 1),
        (lambda w: -tf.reduce_mean(w), (4, 3), 1),
        (lambda w: tf.reduce_sum(tf.abs(w)), (4, 3), 0),
        (lambda w: tf.reduce_sum(tf.square(w)), (4, 3), 0),
        (tf.reduce_sum, (1, 3), 0),  # as the entropy of a policy, of logarithms of deviations
    ],
)
def test_a_sum_of_weights_with_their_signs_is_named(penalty, sizes, count):
    def loss():
        weight = minimized.variable("w", *sizes)
        return tf.reduce_mean(tf.square(minimized.fed("x", 6, sizes[0]) @ weight)) + 1e-4 * penalty(weight)

    assert minimized.found(sums_of_weights, loss) == ["PENALTY_WITHOUT_MAGNITUDE"] * count


@pytest.mark.parametrize("is_exponent, count", [(True, 0), (False, 1)])
def test_logarithms_of_the_deviations_of_weights_are_terms_of_a_divergence(is_exponent, count):
    def loss():
        mean, logarithm = minimized.variable("mean", 4, 3), minimized.variable("logarithm", 4, 3)
        deviation = tf.exp(0.5 * logarithm) if is_exponent else logarithm
        weight = mean + deviation * tf.random.normal([4, 3])
        return tf.reduce_mean(tf.square(minimized.fed("x", 6, 4) @ weight)) - 1e-3 * tf.reduce_sum(logarithm)

    assert minimized.found(sums_of_weights, loss) == ["PENALTY_WITHOUT_MAGNITUDE"] * count


@pytest.mark.parametrize("project, count", [(lambda w: tf.maximum(w, 0.0), 0), (lambda w: 0.5 * w, 1)])
def test_weights_that_are_kept_above_0_are_their_own_magnitudes(project, count):
    def loss():
        weight = minimized.variable("w", 4, 3)
        v1.assign(weight, project(weight), name="project")
        return tf.reduce_mean(tf.square(minimized.fed("x", 6, 4) @ weight)) + 0.1 * tf.reduce_sum(weight)

    assert minimized.found(sums_of_weights, loss) == ["PENALTY_WITHOUT_MAGNITUDE"] * count
