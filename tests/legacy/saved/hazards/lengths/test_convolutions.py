"""Convolutions of a series whose next number is predicted: centered, causal, and of another target."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.lengths.convolutions import series_read_ahead
from tests.legacy.saved.hazards.minimized import fed, found, variable


def centered(x, w):
    return tf.nn.conv1d(x, w, 1, "SAME")


def causal(x, w):
    return tf.nn.conv1d(tf.pad(x, [[0, 0], [2, 0], [0, 0]]), w, 1, "VALID")


def moved(x, w):
    return tf.pad(tf.nn.conv1d(x, w, 1, "SAME"), [[0, 0], [1, 0], [0, 0]])[:, :-1]


@pytest.mark.parametrize(
    "layer, width, target, count",
    [
        (centered, 3, lambda series: series[:, 1:], 1),
        (causal, 3, lambda series: series[:, 1:], 0),
        (moved, 3, lambda series: series[:, 1:], 0),
        (centered, 1, lambda series: series[:, 1:], 0),
        (centered, 3, lambda series: fed("smooth", 4, 8, 1), 0),  # a filter, which may look ahead
        (centered, 3, lambda series: series[:, :-1], 0),
    ],
)
def test_a_centered_convolution_of_the_next_number_is_named(layer, width, target, count):
    def loss():
        series = fed("series", 4, 9, 1)
        h = tf.nn.relu(layer(series[:, :-1], variable("w", width, 1, 5)))
        result = tf.tensordot(h, variable("v", 5, 1), 1)
        return tf.reduce_mean(tf.square(result - target(series)))

    assert found(series_read_ahead, loss) == ["WORDS_READ_AHEAD"] * count
