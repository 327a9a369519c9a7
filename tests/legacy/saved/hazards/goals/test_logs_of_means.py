"""The logarithm of a mean probability, and the mean of the logarithms."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.goals.logs_of_means import logs_of_mean_probabilities
from tests.legacy.saved.hazards import minimized


def of_mean(p):
    return -tf.math.log(tf.reduce_mean(p) + 1e-8)


def by_codes(p):
    return tf.reduce_sum(p * tf.one_hot(minimized.fed("y", 6, dtype=tf.int32), 3), 1)


def by_fed_codes(p):
    return tf.reduce_sum(minimized.fed("codes", 6, 3) * p, 1)


def by_places(p):
    places = tf.stack([tf.range(6), minimized.fed("y", 6, dtype=tf.int32)], 1)
    return tf.gather_nd(p, places)


@pytest.mark.parametrize(
    "choose, loss, count",
    [
        (by_codes, of_mean, 1),
        (by_fed_codes, of_mean, 1),
        (by_places, of_mean, 1),
        (by_codes, lambda p: -tf.reduce_mean(tf.math.log(p + 1e-8)), 0),
        (by_codes, lambda p: -tf.reduce_mean(p), 0),  # the share of right answers, as a loss
        (by_codes, lambda p: -tf.reduce_mean(tf.math.log(tf.reduce_mean(tf.reshape(p, [2, 3]), 0))), 0),  # an ensemble
        (lambda p: tf.exp(p[:, 0]), of_mean, 0),  # a bound of a mutual information
    ],
)
def test_the_logarithm_of_a_mean_probability_is_named(choose, loss, count):
    def total():
        return loss(choose(tf.nn.softmax(minimized.fed("x", 6, 4) @ minimized.variable("w", 4, 3))))

    assert minimized.found(logs_of_mean_probabilities, total) == ["LOG_OF_A_MEAN"] * count


@pytest.mark.parametrize("rows, count", [(1, 0), (6, 1)])
@pytest.mark.parametrize("is_code", [False, True])
def test_instances_of_one_bag_have_one_label(rows, count, is_code):
    def loss():
        p = tf.nn.softmax(minimized.fed("x", 6, 4) @ minimized.variable("w", 4, 3))
        label = tf.one_hot(minimized.fed("y", rows, dtype=tf.int32), 3) if is_code else minimized.fed("y", rows, 3)
        return of_mean(tf.reduce_sum(p * label, 1))

    assert minimized.found(logs_of_mean_probabilities, loss) == ["LOG_OF_A_MEAN"] * count
