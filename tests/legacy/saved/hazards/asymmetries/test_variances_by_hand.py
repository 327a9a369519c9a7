"""Batch normalization by hand, of differences and sums of moments, with a small number and without."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.asymmetries import variances_by_hand
from tests.legacy.saved.hazards.minimized import fed, found, variable


def normalizing(variance, epsilon=1e-3, trained=True):
    def total():
        h = fed("x", 8, 4) @ variable("w", 4, 3) if trained else fed("h", 8, 3)
        mean, squares = tf.reduce_mean(h, 0), tf.reduce_mean(tf.square(h), 0)
        spread = variance(squares, tf.square(mean))
        normal = (h - mean) * tf.math.rsqrt(spread + epsilon if epsilon else spread)
        return tf.reduce_mean(tf.square(normal @ variable("u", 3, 1) - 1.0))

    return total


@pytest.mark.parametrize(
    "variance, count",
    [(lambda a, b: a + b, 1), (lambda a, b: b + a, 1), (lambda a, b: a - b, 0), (lambda a, b: a + tf.sqrt(b), 0)],
)
def test_a_variance_that_is_a_sum_is_named(variance, count):
    assert found(variances_by_hand.variances_that_are_sums, normalizing(variance)) == ["VARIANCE_IS_SUM"] * count


@pytest.mark.parametrize("epsilon, trained, count", [(0, True, 1), (1e-3, True, 0), (0, False, 0)])
def test_a_deviation_to_which_nothing_is_added_is_named(epsilon, trained, count):
    loss = normalizing(lambda squares, mean: squares - mean, epsilon, trained)
    assert found(variances_by_hand.deviations_without_epsilon, loss) == ["ROOT_OF_ZERO"] * count


@pytest.mark.parametrize("epsilon, count", [(0, 1), (1e-3, 0)])
def test_the_moments_of_0_12_are_sums_times_the_reciprocal_of_a_count(epsilon, count):
    def loss():
        h = fed("x", 8, 4) @ variable("w", 4, 3)
        share = tf.math.reciprocal(tf.cast(tf.shape(h)[0], tf.float32))
        mean, squares = tf.reduce_sum(h, 0) * share, tf.reduce_sum(tf.square(h), 0) * share
        normal = (h - mean) / tf.sqrt(squares - tf.square(mean) + epsilon if epsilon else squares - tf.square(mean))
        return tf.reduce_mean(tf.square(normal @ variable("u", 3, 1) - 1.0))

    assert found(variances_by_hand.deviations_without_epsilon, loss) == ["ROOT_OF_ZERO"] * count


@pytest.mark.parametrize("sign, count", [(1.0, 1), (-1.0, 0)])
def test_the_moments_of_all_towers_are_means_of_their_means(sign, count):
    def loss():
        w = variable("w", 4, 3)
        towers = [fed(f"x_{tower}", 8, 4) @ w for tower in range(2)]
        mean = tf.add_n([tf.reduce_mean(h, 0) for h in towers]) / 2.0
        squares = tf.add_n([tf.reduce_mean(tf.square(h), 0) for h in towers]) / 2.0
        spread = squares + mean * mean if sign > 0 else squares - mean * mean
        return tf.reduce_mean(tf.square((towers[0] - mean) / tf.sqrt(spread + 1e-3) @ variable("u", 3, 1) - 1.0))

    assert found(variances_by_hand.variances_that_are_sums, loss) == ["VARIANCE_IS_SUM"] * count
