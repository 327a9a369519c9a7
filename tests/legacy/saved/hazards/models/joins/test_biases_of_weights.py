"""Layers whose bias is added to their weight, beside those that add it to their results."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.models.joins.biases_of_weights import biases_added_to_weights
from tests.legacy.saved.hazards.minimized import fed, found, variable


def convolution(x, w, b):
    return tf.nn.conv2d(x, w + b, 1, "SAME")


def usual(x, w, b):
    return tf.nn.bias_add(tf.nn.conv2d(x, w, 1, "SAME"), b)


def both(x, w, b):
    """A filter with a part of its own for each output, and a bias besides."""
    return tf.nn.bias_add(convolution(x, w, b), variable("own", 4))


def frozen(x, w, b):
    return tf.nn.conv2d(x, w + tf.stop_gradient(tf.ones([4])), 1, "SAME") + b


def of_whole_weight(x, w, b):
    """Two weights, of which one is shared with another task."""
    return tf.nn.conv2d(x, w + variable("shared", 3, 3, 2, 4), 1, "SAME") + b


@pytest.mark.parametrize("layer, count", [(convolution, 1), (usual, 0), (both, 0), (frozen, 0), (of_whole_weight, 0)])
def test_a_bias_that_is_added_to_a_filter_is_named(layer, count):
    def total():
        made = layer(fed("x", 2, 6, 6, 2), variable("w", 3, 3, 2, 4), variable("b", 4))
        return tf.reduce_mean(tf.square(tf.nn.relu(made)))

    assert found(biases_added_to_weights, total) == ["BIAS_ADDED_TO_WEIGHT"] * count


@pytest.mark.parametrize(
    "layer, count",
    [
        (lambda x, w, b: x @ (w + b), 1),
        (lambda x, w, b: x @ w + b, 0),
        (lambda x, w, b: tf.matmul(x, w + b, transpose_b=True), 0),  # along the inputs
    ],
)
def test_a_bias_that_is_added_to_a_matrix_is_named(layer, count):
    def total():
        return tf.reduce_mean(tf.square(tf.tanh(layer(fed("x", 2, 4), variable("w", 4, 4), variable("b", 4)))))

    assert found(biases_added_to_weights, total) == ["BIAS_ADDED_TO_WEIGHT"] * count
