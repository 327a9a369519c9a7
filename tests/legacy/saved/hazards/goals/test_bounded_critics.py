"""Wasserstein critics with and without a sigmoid of their last layer."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.goals.bounded_critics import bounded_critics
from tests.legacy.saved.hazards import minimized


def critic(last, compare):
    def loss():
        weight = minimized.variable("d", 4, 1)
        fake = minimized.fed("z", 8, 3) @ minimized.variable("g", 3, 4)
        return compare(last(minimized.fed("x", 8, 4) @ weight), last(fake @ weight))

    return loss


def distance(real, fake):
    return tf.reduce_mean(fake) - tf.reduce_mean(real)


@pytest.mark.parametrize(
    "last, compare, count",
    [
        (tf.sigmoid, distance, 1),
        (tf.tanh, distance, 1),
        (tf.identity, distance, 0),
        (tf.sigmoid, lambda real, fake: tf.reduce_mean(tf.square(real - 1.0) + tf.square(fake)), 0),
        (tf.sigmoid, lambda real, fake: -tf.reduce_mean(tf.math.log(real + 1e-8) + tf.math.log(1 - fake + 1e-8)), 0),
    ],
)
def test_a_critic_that_ends_in_a_sigmoid_is_named(last, compare, count):
    assert minimized.found(bounded_critics, critic(last, compare)) == ["CRITIC_BOUNDED"] * count
