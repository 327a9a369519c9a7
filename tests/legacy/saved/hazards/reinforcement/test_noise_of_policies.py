"""Losses that lower the deviation of what a network draws, and that raise it."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.reinforcement.noise_of_policies import minimized_noise
from tests.legacy.saved.hazards.minimized import fed, found, variable

v1 = tf.compat.v1


@pytest.mark.parametrize("weight, draws, count", [(0.2, True, 1), (-0.2, True, 0), (0.2, False, 0)])
def test_noise_that_is_minimized_is_named(weight, draws, count):
    def total():
        x = fed("x", 8, 4)
        mean, logarithm = x @ variable("mean", 4, 3), x @ variable("deviation", 4, 3)
        noise = v1.random_normal([8, 3]) if draws else fed("errors", 8, 3)
        action = tf.tanh(mean + tf.exp(logarithm) * noise)
        return tf.reduce_mean(weight * logarithm) - tf.reduce_mean(action @ variable("critic", 3, 1))

    assert found(minimized_noise, total) == ["ENTROPY_MINIMIZED"] * count


@pytest.mark.parametrize("scale", [1.0, 2.0])
@pytest.mark.parametrize("is_whole", [True, False])
def test_a_divergence_with_the_wrong_sign_is_no_entropy(scale, is_whole):
    def total():
        x = fed("x", 8, 4)
        mean, h = x @ variable("mean", 4, 3), x @ variable("deviation", 4, 3)
        code = mean + tf.exp(h) * v1.random_normal([8, 3])
        divergence = 0.5 * (1.0 + scale * h - tf.square(mean) - (tf.exp(scale * h) if is_whole else 0.0))
        return tf.reduce_mean(tf.square(code @ variable("decoder", 3, 4) - x)) + tf.reduce_mean(divergence)

    assert found(minimized_noise, total) == ([] if is_whole else ["ENTROPY_MINIMIZED"])


@pytest.mark.parametrize(
    "divided, count",
    [
        (lambda errors, h: 0.5 * tf.square(errors / tf.exp(h)), 0),
        (lambda errors, h: 0.5 * tf.square(errors) * tf.exp(-2.0 * h), 0),
        (lambda errors, h: (0.5 + tf.square(errors)) / (2.0 * tf.exp(2.0 * h)), 0),
        (lambda errors, h: tf.square(errors), 1),
        (lambda errors, h: tf.square(errors) * tf.exp(h), 1),  # which rises with the deviation, as the logarithm does
    ],
)
@pytest.mark.parametrize("is_of_data", [True, False])
def test_a_likelihood_of_other_values_than_the_drawn_ones_is_no_entropy(divided, count, is_of_data):
    """A decoder's; the errors of what is drawn are the noise, whatever the deviation."""

    def total():
        x = fed("x", 8, 4)
        mean, h = x @ variable("mean", 4, 3), x @ variable("deviation", 4, 3)
        drawn = mean + tf.exp(h) * v1.random_normal([8, 3])
        errors = (fed("targets", 8, 3) if is_of_data else drawn) - mean
        return tf.reduce_mean(divided(errors, h) + h) + tf.reduce_mean(tf.square(drawn @ variable("critic", 3, 1)))

    assert found(minimized_noise, total) == ["ENTROPY_MINIMIZED"] * (count if is_of_data else 1)
