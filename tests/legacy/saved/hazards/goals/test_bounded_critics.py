"""Wasserstein critics with and without a sigmoid of their last layer."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.goals.bounded_critics import bounded_critics
from tests.legacy.saved.hazards import minimized

v1 = tf.compat.v1


def critic(last, compare, clips=True, penalizes=False):
    def loss():
        weight = minimized.variable("d", 4, 1)
        fake = minimized.fed("z", 8, 3) @ minimized.variable("g", 3, 4)
        if clips:
            v1.assign(weight, tf.clip_by_value(weight, -0.01, 0.01), name="clip")
        real = minimized.fed("x", 8, 4)
        result = last(real @ weight)
        penalty = tf.reduce_mean(tf.square(tf.gradients(result, real)[0])) if penalizes else 0.0
        return compare(result, last(fake @ weight)) + penalty

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


@pytest.mark.parametrize("clips, penalizes, count", [(False, False, 0), (False, True, 1)])
def test_a_difference_of_bounded_means_is_a_distance_of_its_own(clips, penalizes, count):
    """That of total variation, where nothing tells that the critic is to have bounded derivatives."""
    loss = critic(tf.sigmoid, distance, clips, penalizes)
    assert minimized.found(bounded_critics, loss) == ["CRITIC_BOUNDED"] * count
