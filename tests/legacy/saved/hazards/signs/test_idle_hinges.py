"""Hinges of distances and norms plus a margin, beside those that hold somewhere."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.signs.idle_hinges import hinges_without_effect
from tests.legacy.saved.hazards.minimized import fed, found, variable


def of_distances(hinge):
    def total():
        one, other = (fed(name, 8, 4) @ weight for weight in [variable("w", 4, 3)] for name in ("x", "y"))
        distance = tf.sqrt(tf.reduce_sum(tf.square(one - other), 1) + 1e-6)
        return tf.reduce_mean(tf.square(hinge(distance, one))) + tf.reduce_mean(tf.square(one))

    return found(hinges_without_effect, total)


@pytest.mark.parametrize(
    "hinge, count",
    [
        (lambda d, score: tf.maximum(d + 0.5, 0.0), 1),
        (lambda d, score: tf.nn.relu(0.5 + tf.square(d)), 1),
        (lambda d, score: tf.maximum(0.5 - d, 0.0), 0),
        (lambda d, score: tf.maximum(d - 0.5, 0.0), 0),
        (lambda d, score: tf.maximum(score[:, 0] + 0.5, 0.0), 0),
        (lambda d, score: tf.maximum(d + 1e-6, 0.0), 0),  # a guard
        (lambda d, score: tf.maximum(d - tf.reduce_mean(d) + 0.5, 0.0), 0),
        (lambda d, score: tf.maximum(tf.stop_gradient(d) + 0.5, 0.0) * 0.0 + d, 0),
    ],
)
def test_a_hinge_that_always_lets_pass_is_named(hinge, count):
    assert of_distances(hinge) == ["HINGE_WITHOUT_EFFECT"] * count
