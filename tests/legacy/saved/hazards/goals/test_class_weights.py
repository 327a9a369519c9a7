"""Weights that balance the classes of labels, and such that do the opposite."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.goals.class_weights import reversed_class_weights
from tests.legacy.saved.hazards import minimized


def balanced(weights):
    def loss():
        y = minimized.fed("y", 8, 1)
        logits = minimized.fed("x", 8, 4) @ minimized.variable("w", 4, 1)
        entropy = tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logits)
        return tf.reduce_mean(entropy * weights(y))

    return loss


def share_of_zeros(y):
    ones, zeros = tf.reduce_sum(y), tf.reduce_sum(1.0 - y)
    return zeros / (ones + zeros)


def by_share(y):
    beta = share_of_zeros(y)
    return y * beta + (1.0 - y) * (1.0 - beta)


def by_other_share(y):
    beta = share_of_zeros(y)
    return y * (1.0 - beta) + (1.0 - y) * beta


def by_mean(y):
    return tf.where(y > 0.5, tf.ones_like(y) * tf.reduce_mean(y), tf.ones_like(y) * (1.0 - tf.reduce_mean(y)))


@pytest.mark.parametrize(
    "weights, count",
    [
        (by_other_share, 1),
        (by_mean, 1),
        (by_share, 0),
        (lambda y: 1.0 + 3.0 * y, 0),  # constants
        (lambda y: y / tf.reduce_sum(y), 0),  # a mean of one class
        (lambda y: 1.0 / tf.reduce_sum(y) * tf.ones_like(y), 0),
    ],
)
def test_weights_that_rise_with_the_count_of_a_class_are_named(weights, count):
    assert minimized.found(reversed_class_weights, balanced(weights)) == ["CLASS_WEIGHTS_REVERSED"] * count


@pytest.mark.parametrize("weight, count", [(lambda b: (1.0 - b) / b, 1), (lambda b: b / (1.0 - b), 0)])
def test_weights_of_positive_labels_are_read_too(weight, count):
    def loss():
        y = minimized.fed("y", 8, 1)
        logits = minimized.fed("x", 8, 4) @ minimized.variable("w", 4, 1)
        return tf.reduce_mean(tf.nn.weighted_cross_entropy_with_logits(y, logits, weight(share_of_zeros(y))))

    assert minimized.found(reversed_class_weights, loss) == ["CLASS_WEIGHTS_REVERSED"] * count
