"""Structural similarities that a loss lowers, and such that it raises."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.goals.similarities import minimized_similarities
from tests.legacy.saved.hazards import minimized

C1, C2 = 0.01**2, 0.03**2


def by_hand(x, y):
    """As in monocular depth: numerators and denominators are multiplied before the division."""

    def mean(image):
        return tf.nn.avg_pool2d(image, 3, 1, "VALID")

    mu_x, mu_y = mean(x), mean(y)
    sigma_x, sigma_y = mean(x**2) - mu_x**2, mean(y**2) - mu_y**2
    sigma_xy = mean(x * y) - mu_x * mu_y
    above = (2 * mu_x * mu_y + C1) * (2 * sigma_xy + C2)
    return above / ((mu_x**2 + mu_y**2 + C1) * (sigma_x + sigma_y + C2))


def by_op(x, y):
    return tf.image.ssim(x, y, 1.0)


@pytest.mark.parametrize("similarity", [by_hand, by_op])
@pytest.mark.parametrize(
    "loss, count",
    [
        (tf.reduce_mean, 1),
        (lambda s: 0.5 * tf.reduce_mean(s), 1),
        (lambda s: 1.0 - tf.reduce_mean(s), 0),
        (lambda s: tf.reduce_mean((1.0 - s) / 2.0), 0),
        (lambda s: -tf.reduce_mean(s), 0),
    ],
)
def test_a_similarity_that_is_minimized_is_named(similarity, loss, count):
    def total():
        image = tf.sigmoid(
            tf.nn.conv2d(minimized.fed("x", 2, 12, 12, 1), minimized.variable("k", 3, 3, 1, 1), 1, "SAME")
        )
        return loss(similarity(image, minimized.fed("t", 2, 12, 12, 1)))

    assert minimized.found(minimized_similarities, total) == ["SIMILARITY_MINIMIZED"] * count


def test_other_quotients_of_sums_are_no_similarity():
    def dice():
        p, y = tf.sigmoid(minimized.fed("x", 6, 4) @ minimized.variable("w", 4, 1)), minimized.fed("y", 6, 1)
        return tf.reduce_mean((2.0 * p * y + 1.0) / (p + y + 1.0))

    assert minimized.found(minimized_similarities, dice) == []


def test_results_that_a_loss_makes_unlike_each_other_are_no_hazard():
    def diverse():
        x, kernel = minimized.fed("x", 2, 12, 12, 1), minimized.variable("k", 3, 3, 1, 1)
        images = [tf.nn.conv2d(x + tf.random.normal(tf.shape(x)), kernel, 1, "SAME") for _ in range(2)]
        return tf.reduce_mean(tf.square(images[0] - x)) + 0.1 * tf.reduce_mean(tf.image.ssim(*images, 1.0))

    assert minimized.found(minimized_similarities, diverse) == []
