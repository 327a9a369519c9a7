"""Sums along the examples, beside those along other axes."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.hazards.models.sums_over_examples import likelihoods_over_examples, means_of_one_number
from tests.legacy.saved.hazards.minimized import fed, found_by_analysis, variable

v1 = tf.compat.v1


@pytest.mark.parametrize(
    "axis, pairs, count",
    [(0, False, 1), (1, False, 0), (0, True, 0), (None, False, 0)],
)
def test_a_sum_of_likelihoods_along_the_examples_is_named(axis, pairs, count):
    def total():
        h = fed("x", 8, 4) @ variable("w", 4, 5)
        scores = tf.matmul(h, h, transpose_b=True) if pairs else h
        return -tf.reduce_mean(tf.reduce_logsumexp(scores - tf.square(scores), axis))

    assert found_by_analysis(likelihoods_over_examples, total) == ["SUM_OVER_EXAMPLES"] * count


def mean_of_scalar(scalar):
    """`tf.reduce_mean` of one number, as TensorFlow 1.x writes it: over no axes."""
    return tf.reduce_mean(scalar, np.zeros([0], np.int32))


@pytest.mark.parametrize(
    "rows, total, count",
    [
        (None, lambda x, w: mean_of_scalar(tf.reduce_sum(x)), 1),
        (8, lambda x, w: tf.reduce_mean(x) + 1e-7 * mean_of_scalar(tf.reduce_sum(x)), 1),
        (None, lambda x, w: mean_of_scalar(tf.reduce_sum(x) - 0.5 * tf.reduce_sum(tf.sigmoid(x))), 1),
        (None, lambda x, w: tf.reduce_mean(tf.reduce_sum(x, axis=1)), 0),
        (None, lambda x, w: mean_of_scalar(tf.reduce_mean(x)), 0),
        (None, lambda x, w: tf.reduce_sum(x), 0),
        (None, lambda x, w: mean_of_scalar(tf.reduce_sum(x)) / 8.0, 0),
        (None, lambda x, w: mean_of_scalar(tf.reduce_sum(x) / tf.reduce_sum(fed("mask", None))), 0),
        (None, lambda x, w: tf.reduce_mean(x) + mean_of_scalar(tf.reduce_sum(tf.square(w))), 0),
    ],
)
def test_a_mean_of_a_sum_of_all_elements_is_named(rows, total, count):
    def loss():
        w = variable("w", 4, 5)
        return total(tf.square(fed("x", rows, 4) @ w), w)

    assert found_by_analysis(means_of_one_number, loss) == ["MEAN_OF_ONE_NUMBER"] * count


def test_a_loss_that_another_train_op_minimizes_is_left_to_its_own_page():
    def loss():
        w = variable("w", 4, 5)
        x = tf.square(fed("x", None, 4) @ w)
        v1.train.GradientDescentOptimizer(0.5).minimize(mean_of_scalar(tf.reduce_sum(x)), name="other")
        return tf.reduce_mean(x)

    assert found_by_analysis(means_of_one_number, loss) == []
