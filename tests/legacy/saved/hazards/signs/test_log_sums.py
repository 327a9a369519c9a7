"""Likelihoods of a Cox model that are minimized, beside those that are maximized."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.signs.log_sums import minimized_log_sums
from tests.legacy.saved.hazards.minimized import fed, found, variable


def risks():
    return tf.squeeze(fed("x", 8, 4) @ variable("w", 4, 1), 1)


def cumulated(h):
    return tf.math.log(tf.cumsum(tf.exp(h)))


@pytest.mark.parametrize(
    "total, count",
    [
        (lambda h: tf.reduce_mean(h - cumulated(h)), 1),
        (lambda h: -tf.reduce_mean(h - cumulated(h)), 0),
        (lambda h: tf.reduce_mean(cumulated(h) - h), 0),
        (lambda h: tf.reduce_mean(h - tf.math.log(tf.reduce_sum(tf.exp(h)) + 1e-8)), 1),
        (lambda h: -tf.reduce_mean(cumulated(h)), 0),  # as of the better ones of several pairs, less those of all
        (lambda h: tf.reduce_mean(tf.nn.softmax(h) * h) - tf.math.log(tf.reduce_sum(tf.exp(h))), 0),  # an entropy
        (lambda h: tf.reduce_mean(tf.square(h)) + tf.reduce_mean(tf.stop_gradient(h - cumulated(h))), 0),
    ],
)
def test_a_likelihood_without_its_minus_sign_is_named(total, count):
    assert found(minimized_log_sums, lambda: total(risks())) == ["LIKELIHOOD_MINIMIZED"] * count


@pytest.mark.parametrize("sign, count", [(1.0, 1), (-1.0, 0)])
@pytest.mark.parametrize("divided", [True, False])
def test_events_weigh_it_where_their_number_divides(sign, count, divided):
    """Of other numbers, such as rewards, the sign is not known."""

    def loss():
        h, events = risks(), fed("events", 8)
        total = tf.reduce_sum((h - cumulated(h)) * events)
        return sign * (total / tf.reduce_sum(events) if divided else total)

    assert found(minimized_log_sums, loss) == ["LIKELIHOOD_MINIMIZED"] * (count * divided)
