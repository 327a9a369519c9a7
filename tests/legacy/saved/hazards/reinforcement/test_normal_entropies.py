"""Losses that lower the entropy of a normal policy, and that raise it or contain its deviation otherwise."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.reinforcement.normal_entropies import minimized_normal_entropies
from tests.legacy.saved.hazards.minimized import fed, found, variable

v1 = tf.compat.v1


def surrogate(beside, deviation=lambda: tf.exp(variable("logarithm", 2)), clipped=True):
    """A function that makes a clipped surrogate of a normal policy, and adds `beside(its error, its deviation)`."""

    def total():
        actions, old, advantages = fed("actions", 8, 2), fed("old", 8), fed("advantages", 8)
        sigma = deviation()
        error = (actions - fed("x", 8, 4) @ variable("mean", 4, 2)) / sigma
        likelihood = tf.reduce_sum(-0.5 * tf.square(error) - tf.math.log(sigma), 1)
        ratio = tf.exp(likelihood - old)
        bounded = tf.clip_by_value(ratio, 0.8, 1.2) if clipped else ratio
        loss = -tf.reduce_mean(tf.minimum(ratio * advantages, bounded * advantages))
        return loss + beside(error, sigma)

    return total


def soft():
    return tf.nn.softplus(variable("soft", 2)) + 1e-3


def by_state():
    return tf.exp(fed("state", 8, 3) @ variable("head", 3, 2))


def entropy(sigma):
    return tf.reduce_mean(tf.math.log(sigma) + 1.4)


@pytest.mark.parametrize("deviation", [soft, by_state])
@pytest.mark.parametrize("weight, count", [(0.01, 1), (-0.01, 0)])
def test_an_entropy_that_is_minimized_is_named(deviation, weight, count):
    loss = surrogate(lambda error, sigma: weight * entropy(sigma), deviation)
    assert found(minimized_normal_entropies, loss) == ["ENTROPY_MINIMIZED"] * count


@pytest.mark.parametrize("weight, count", [(0.01, 1), (-0.01, 0)])
def test_a_variable_that_is_the_logarithm_is_named(weight, count):
    held = []

    def deviation():
        held.append(variable("logarithm", 2))
        return tf.exp(held[-1])

    loss = surrogate(lambda error, sigma: weight * tf.reduce_sum(held[-1] + 1.4), deviation)
    assert found(minimized_normal_entropies, loss) == ["ENTROPY_MINIMIZED"] * count


def test_a_likelihood_of_the_same_policy_that_is_imitated_is_not_accused():
    def imitation(error, sigma):
        return 0.1 * tf.reduce_mean(0.5 * tf.square(error) + tf.math.log(sigma))

    assert not found(minimized_normal_entropies, surrogate(imitation))


def test_deviations_of_another_model_and_of_no_clipped_ratio_are_not_accused():
    def model(error, sigma):
        own = tf.exp(variable("own", 2))
        rest = (fed("next", 8, 2) - fed("now", 8, 3) @ variable("model", 3, 2)) / own
        return tf.reduce_mean(0.5 * tf.square(rest) + tf.math.log(own))

    assert not found(minimized_normal_entropies, surrogate(model))
    assert not found(minimized_normal_entropies, surrogate(lambda _, sigma: 0.1 * entropy(sigma), clipped=False))
