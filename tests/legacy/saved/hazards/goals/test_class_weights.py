"""Weights that balance the classes of labels, and such that do the opposite."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.goals.class_weights import logits_times_class_weights, reversed_class_weights
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


@pytest.mark.parametrize(
    "weigh, count",
    [
        (lambda logits: logits * tf.constant([0.2, 1.0, 3.0]), 1),
        (lambda logits: logits / tf.constant([[0.2, 1.0, 3.0]]), 1),
        (lambda logits: logits, 0),
        (lambda logits: logits * tf.constant([2.0, 2.0, 2.0]), 0),  # a scale
        (lambda logits: logits * tf.constant([1.0, 0.0, 1.0]), 0),  # a mask of classes
        (lambda logits: logits * minimized.variable("scales", 3), 0),
        (lambda logits: logits + tf.constant([0.2, 1.0, 3.0]), 0),  # the classes' prior
    ],
)
def test_logits_that_are_multiplied_by_weights_of_classes_are_named(weigh, count):
    def total():
        logits = weigh(minimized.fed("x", 4, 5) @ minimized.variable("w", 5, 3))
        y = minimized.fed("y", 4, dtype=tf.int32)
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))

    assert minimized.found(logits_times_class_weights, total) == ["LOGITS_TIMES_CLASS_WEIGHTS"] * count


def test_cross_entropies_that_are_multiplied_by_weights_of_classes_are_not():
    def total():
        logits = minimized.fed("x", 4, 5) @ minimized.variable("w", 5, 3)
        y = minimized.fed("y", 4, dtype=tf.int32)
        weights = tf.gather(tf.constant([0.2, 1.0, 3.0]), y)
        return tf.reduce_mean(weights * tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))

    assert minimized.found(logits_times_class_weights, total) == []
