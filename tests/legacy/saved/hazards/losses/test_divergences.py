"""Variational losses that average the divergence over the code, beside those that treat errors and code alike."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.losses.divergences import divergences_divided_by_the_code
from tests.legacy.saved.hazards.minimized import fed, found_by_analysis, variable

v1 = tf.compat.v1


def found(errors, divergence):
    """The hazards of a variational autoencoder of 8 examples with 6 outputs and a code of 3 numbers.

    Args:
      errors: makes a scalar of the squared errors.
      divergence: makes a scalar of the terms 1 + h - mu^2 - exp(h).
    """

    def loss():
        x = fed("x", 8, 6)
        mean, logarithm = x @ variable("m", 6, 3), x @ variable("h", 6, 3)
        code = mean + tf.exp(0.5 * logarithm) * v1.random_normal([8, 3])
        terms = 1.0 + logarithm - tf.square(mean) - tf.exp(logarithm)
        return errors(tf.math.squared_difference(code @ variable("d", 3, 6), x)) + divergence(terms)

    return found_by_analysis(divergences_divided_by_the_code, loss)


def summed(errors):
    return tf.reduce_mean(tf.reduce_sum(errors, 1))


def averaged(terms):
    return -0.5 * tf.reduce_mean(terms)


@pytest.mark.parametrize("errors", [summed, lambda e: tf.reduce_sum(e) / 8.0, tf.reduce_sum])
@pytest.mark.parametrize("divergence", [averaged, lambda t: tf.reduce_mean(-0.5 * tf.reduce_mean(t, 1))])
def test_a_divergence_averaged_over_the_code_is_named(errors, divergence):
    assert found(errors, divergence) == ["DIVERGENCE_OVER_CODE"]


@pytest.mark.parametrize("divergence", [lambda t: -0.5 * summed(t), lambda t: tf.reduce_mean(-0.5 * summed(t))])
def test_one_that_is_added_up_is_not(divergence):
    assert found(summed, divergence) == []


def test_means_of_both_are_not():
    assert found(tf.reduce_mean, averaged) == []


@pytest.mark.parametrize("weight", [3.0, 0.1])
def test_a_weight_that_the_program_chose_is_not(weight):
    """As the number of the code's elements, or that of a beta-VAE."""
    assert found(summed, lambda terms: weight * averaged(terms)) == []
    assert found(lambda errors: weight * summed(errors), averaged) == []
