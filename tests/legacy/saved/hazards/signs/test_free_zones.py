"""Hinges of two labels that leave results between them free, beside those that keep the labels apart."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.signs.free_zones import overlapping_hinges
from tests.legacy.saved.hazards.minimized import fed, found, variable


def of_two_labels(present, absent):
    def total():
        parts = tf.reshape(fed("x", 8, 4) @ variable("w", 4, 6), [8, 3, 2])
        lengths, labels = tf.sqrt(tf.reduce_sum(tf.square(parts), 2) + 1e-9), fed("y", 8, 3)
        here = labels * tf.square(tf.nn.relu(present(lengths)))
        return tf.reduce_mean(here + 0.5 * (1.0 - labels) * tf.square(tf.maximum(0.0, absent(lengths))))

    return found(overlapping_hinges, total)


@pytest.mark.parametrize(
    "present, absent, count",
    [
        (lambda n: n - 0.9, lambda n: 0.1 - n, 1),
        (lambda n: n + (-0.9), lambda n: 0.1 + -n, 1),
        (lambda n: 0.1 - n, lambda n: n - 0.9, 1),
        (lambda n: 0.9 - n, lambda n: n - 0.1, 0),  # of a capsule's length
        (lambda n: n - 0.5, lambda n: 2.0 - n, 0),  # of the distance of a pair
        (lambda n: n - 0.9, lambda n: n - 0.1, 0),  # both one way, which is another hazard
        (lambda n: n - 0.5, lambda n: 0.5 - n, 0),
    ],
)
def test_results_that_cost_nothing_under_either_label_are_named(present, absent, count):
    assert of_two_labels(present, absent) == ["HINGES_OVERLAP"] * count
