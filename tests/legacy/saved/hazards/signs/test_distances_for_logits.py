"""Softmax losses of distances to classes, with and without a minus sign."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.signs.distances_for_logits import distances_for_logits
from tests.legacy.saved.hazards.minimized import fed, found, variable


def of_distances(logits, over=tf.reduce_sum):
    def total():
        examples, centers = fed("x", 8, 4) @ variable("w", 4, 3), variable("centers", 5, 3)
        distances = over(tf.square(examples[:, tf.newaxis] - centers[tf.newaxis]), 2)
        labels = fed("y", 8, dtype=tf.int32)
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits(distances, examples))
        return tf.reduce_mean(loss)

    return found(distances_for_logits, total)


@pytest.mark.parametrize(
    "logits, count",
    [
        (lambda d, x: d, 1),
        (lambda d, x: 0.5 * d, 1),
        (lambda d, x: tf.sqrt(d), 1),
        (lambda d, x: -d, 0),
        (lambda d, x: -0.5 * d, 0),
        (lambda d, x: 1.0 - d, 0),
        (lambda d, x: 1.0 / (1.0 + d), 0),
        (lambda d, x: tf.stack([tf.ones([8]), d[:, 0]], 1), 0),  # the same, or another
        (lambda d, x: tf.square(x @ variable("u", 3, 5)), 0),
    ],
)
def test_distances_without_a_minus_sign_are_named(logits, count):
    assert of_distances(logits) == ["DISTANCES_FOR_LOGITS"] * count


@pytest.mark.parametrize("logits, count", [(lambda d, x: d, 1), (lambda d, x: -d, 0)])
def test_means_of_squares_are_distances_too(logits, count):
    assert of_distances(logits, tf.reduce_mean) == ["DISTANCES_FOR_LOGITS"] * count
