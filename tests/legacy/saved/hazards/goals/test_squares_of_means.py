"""Squares of mean errors, and means of squared ones."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.goals.squares_of_means import squares_of_mean_errors, squares_of_sums_of_errors
from tests.legacy.saved.hazards.minimized import fed, found, found_by_analysis, variable


@pytest.mark.parametrize(
    "loss, count",
    [
        (lambda error: tf.square(tf.reduce_mean(error)), 1),
        (lambda error: 0.5 * tf.reduce_mean(error) ** 2, 1),
        (lambda error: tf.reduce_mean(tf.square(error)), 0),
        (lambda error: tf.reduce_mean(error**2) + 0.1 * tf.reduce_mean(error) ** 2, 0),
        (lambda error: tf.reduce_mean(error**2) - 0.5 * tf.reduce_mean(error) ** 2, 0),
        (lambda error: tf.square(tf.reduce_mean(tf.abs(error))), 0),
    ],
)
def test_the_square_of_a_mean_error_is_named(loss, count):
    def total():
        return loss(fed("x", 8, 4) @ variable("w", 4, 3) - fed("y", 8, 3))

    assert found(squares_of_mean_errors, total) == ["SQUARE_OF_A_MEAN"] * count


def test_mean_features_of_two_batches_may_be_compared():
    """As a generator's loss of matching features."""

    def total():
        w = variable("w", 4, 3)
        means = [tf.reduce_mean(fed(name, 8, 4) @ w, 0) for name in ("real", "made")]
        return (
            tf.reduce_sum(tf.square(means[0] - means[1])) + tf.reduce_mean(fed("x", 8, 4) @ w - fed("z", 8, 4) @ w) ** 2
        )

    assert found(squares_of_mean_errors, total) == []


@pytest.mark.parametrize(
    "loss, count",
    [
        (lambda error: tf.square(tf.reduce_sum(error)), 1),
        (lambda error: tf.reduce_sum(error) ** 2 / 16.0, 1),
        (lambda error: tf.reduce_mean(tf.square(tf.reduce_sum(error, 0))), 1),
        (lambda error: tf.reduce_mean(tf.square(tf.reduce_sum(error, 1))), 0),
        (lambda error: tf.reduce_sum(tf.square(error)), 0),
        (lambda error: tf.reduce_mean(error**2) + 0.1 * tf.reduce_sum(error) ** 2, 0),
        (lambda error: tf.square(tf.reduce_sum(tf.abs(error))), 0),
    ],
)
def test_the_square_of_a_sum_over_examples_is_named(loss, count):
    def total():
        return loss(fed("x", 8, 4) @ variable("w", 4, 3) - fed("y", 8, 3))

    assert found_by_analysis(squares_of_sums_of_errors, total) == ["SQUARE_OF_A_MEAN"] * count


def test_the_count_of_one_image_is_a_sum():
    def total():
        return tf.square(tf.reduce_sum(fed("x", 1, 4) @ variable("w", 4, 3) - fed("y", 1, 3)))

    assert found_by_analysis(squares_of_sums_of_errors, total) == []


def test_sums_of_batches_may_be_compared():
    def total():
        result = fed("x", 8, 4) @ variable("w", 4, 3)
        return tf.square(tf.reduce_sum(result) - tf.reduce_sum(fed("y", 8, 3)))

    assert found_by_analysis(squares_of_sums_of_errors, total) == []
