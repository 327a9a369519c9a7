"""Codebooks from which each example takes the nearest row, or the farthest."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.goals.farthest_rows import farthest_rows
from tests.legacy.saved.hazards.minimized import fed, found, variable


def expanded(z, e):
    return tf.reduce_sum(z**2, 1, keepdims=True) - 2.0 * tf.matmul(z, e, transpose_b=True) + tf.reduce_sum(e**2, 1)


def of_differences(z, e):
    return tf.reduce_sum(tf.math.squared_difference(z[:, None], e[None]), 2)


@pytest.mark.parametrize("distance", [expanded, of_differences])
@pytest.mark.parametrize(
    "choose, count",
    [
        (lambda d: tf.argmax(d, 1), 1),
        (lambda d: tf.argmin(-d, 1), 1),
        (lambda d: tf.argmin(d, 1), 0),
        (lambda d: tf.argmax(-d, 1), 0),
    ],
)
def test_the_farthest_row_is_named(distance, choose, count):
    def total():
        z, e = fed("x", 8, 4) @ variable("w", 4, 3), variable("codes", 5, 3)
        code = tf.gather(e, choose(distance(z, e)))
        return tf.reduce_mean((tf.stop_gradient(z) - code) ** 2 + (z - tf.stop_gradient(code)) ** 2)

    assert found(farthest_rows, total) == ["FARTHEST_ROW_TAKEN"] * count


def test_the_row_of_the_largest_product_is_not():
    def total():
        z, e = fed("x", 8, 4) @ variable("w", 4, 3), variable("codes", 5, 3)
        return tf.reduce_mean((z - tf.gather(e, tf.argmax(tf.matmul(z, e, transpose_b=True), 1))) ** 2)

    assert found(farthest_rows, total) == []
