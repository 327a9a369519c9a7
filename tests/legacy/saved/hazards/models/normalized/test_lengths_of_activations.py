"""Lengths of vectors of ReLU outputs, as of the capsules that a layer of them begins with."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.models.normalized.lengths_of_activations import lengths_of_activations
from tests.legacy.saved.hazards import minimized


def capsules(units, activation=tf.nn.relu):
    """[examples, 6, units] activations of a layer."""
    x = minimized.fed("x", 8, 4)
    values = tf.reshape(tf.matmul(x, minimized.variable("w", 4, 6 * units)), [-1, 6, units])
    return values if activation is None else activation(values)


def named(length):
    """Whether a loss of some lengths has the hazard."""
    found = minimized.found_by_analysis(lengths_of_activations, lambda: tf.reduce_mean(tf.square(length() - 1.0)))
    assert found in ([], ["ROOT_OF_ZERO"])
    return bool(found)


def stopped(values):
    """Sums of values times lengths that no gradient passes."""
    return tf.reduce_sum(values, 2) * tf.stop_gradient(tf.norm(values, axis=2))


@pytest.mark.parametrize(
    "length",
    [
        lambda: tf.norm(capsules(4), axis=2),
        lambda: tf.norm(capsules(4), axis=-1, keepdims=True),
        lambda: tf.sqrt(tf.reduce_sum(tf.square(capsules(16)), 2)),
        lambda: tf.sqrt(tf.reduce_sum(capsules(4, tf.nn.relu6) ** 2, 2)),
    ],
)
def test_the_length_of_a_few_outputs_of_a_relu_is_named(length):
    assert named(length)


@pytest.mark.parametrize(
    "length",
    [
        lambda: tf.sqrt(tf.reduce_sum(tf.square(capsules(4)), 2) + 1e-9),
        lambda: tf.sqrt(tf.maximum(tf.reduce_sum(tf.square(capsules(4)), 2), 1e-9)),
        lambda: tf.norm(capsules(4) + 1e-6, axis=2),
        lambda: tf.norm(capsules(4, None), axis=2),
        lambda: tf.norm(capsules(4, tf.nn.softplus), axis=2),
        lambda: tf.norm(capsules(64), axis=2),  # of many features
        lambda: tf.norm(capsules(2)),  # of all examples' outputs
        lambda: stopped(capsules(4)),
        lambda: tf.reduce_sum(tf.square(capsules(4)), 2),
    ],
)
def test_other_lengths_are_not(length):
    assert not named(length)


def test_the_gradient_is_not_a_number_where_all_outputs_are_0():
    x = tf.constant([[-1.0, -2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        lengths = tf.norm(tf.nn.relu(x), axis=1)
    gradient = tape.gradient(lengths, x).numpy()
    assert (gradient[0] != gradient[0]).all() and (gradient[1] == gradient[1]).all()
