"""Targets of Q-learning with one maximum for the whole batch, beside those with one for each example."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.reinforcement.maxima_of_batches import maxima_of_batches
from tests.legacy.saved.hazards.minimized import fed, found_by_analysis, variable

v1 = tf.compat.v1


def nested(values, axis):
    """The maximum over the actions of the maxima over the examples."""
    return tf.reduce_max(tf.reduce_max(values, 0), axis)


def found(reduce, axis, rewards=(8,), examples=8, stop=True):
    """The hazards of a loss that compares values with rewards plus 0.9 times maxima."""

    def loss():
        weights = variable("w", 4, 3)
        copy = v1.get_variable("t", [4, 3], use_resource=False, trainable=False)
        value = tf.reduce_sum((fed("s", examples, 4) @ weights) * fed("a", examples, 3), 1)
        later = reduce(fed("s2", examples, 4) @ copy, axis)
        alive = 1.0 - fed("ends", *rewards)
        target = fed("r", *rewards) + 0.9 * alive * later
        target = tf.stop_gradient(target) if stop else target
        return tf.reduce_mean(tf.math.squared_difference(target, value))

    return found_by_analysis(maxima_of_batches, loss)


@pytest.mark.parametrize("reduce", [tf.reduce_max, nested])
def test_one_maximum_for_all_examples_is_named(reduce):
    assert found(reduce, None) == ["MAXIMUM_OF_BATCH"]
    assert found(reduce, None, stop=False) == ["MAXIMUM_OF_BATCH"]


@pytest.mark.parametrize("axis", [1, -1, [1]])
def test_one_for_each_example_is_not(axis):
    assert found(tf.reduce_max, axis) == []


@pytest.mark.parametrize("rewards", [(), (1,)])
def test_the_one_state_of_an_agent_that_learns_from_each_step_is_not(rewards):
    assert found(tf.reduce_max, None, rewards, examples=1) == []
