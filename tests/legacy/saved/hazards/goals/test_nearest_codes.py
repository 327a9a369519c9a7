"""Nearest codes that layers take as they are, beside straight-through estimates and encodings that a loss takes."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.goals.nearest_codes import codes_without_gradient
from tests.legacy.saved.hazards import minimized


def decoded(code, encoding):
    return tf.reduce_mean(tf.square(code @ minimized.variable("decoder", 3, 4)))


def straight_through(code, encoding):
    return decoded(encoding + tf.stop_gradient(code - encoding), encoding)


def both(code, encoding):
    """As in a map that decodes the encodings as well as their codes."""
    return decoded(code, encoding) + tf.reduce_mean(tf.square(encoding @ minimized.variable("other", 3, 4)))


def by_hand(distances):
    def total(loss):
        encoding = minimized.fed("x", 8, 4) @ minimized.variable("encoder", 4, 3)
        table = minimized.variable("table", 5, 3)
        code = tf.gather(table, tf.argmin(distances(encoding, table), 1))
        close = tf.reduce_mean(tf.square(tf.stop_gradient(code) - encoding))
        return loss(code, encoding) + 0.25 * close + tf.reduce_mean(tf.square(code - tf.stop_gradient(encoding)))

    return total


def by_products(encoding, table):
    squares = tf.reduce_sum(encoding**2, 1, keepdims=True) + tf.reduce_sum(tf.transpose(table) ** 2, 0)
    return squares - 2.0 * tf.matmul(encoding, table, transpose_b=True)


def by_differences(encoding, table):
    return tf.norm(encoding[:, tf.newaxis] - table[tf.newaxis], axis=2)


def by_scores(encoding, table):
    """Words that scores choose, as those that a decoder with one table takes for its next input, have no distances."""
    return -tf.matmul(encoding, table, transpose_b=True)


@pytest.mark.parametrize(
    "distances, loss, count",
    [
        (by_products, decoded, 1),
        (by_differences, decoded, 1),
        (by_products, straight_through, 0),
        (by_differences, straight_through, 0),
        (by_products, both, 0),
        (by_scores, decoded, 0),
        (by_products, lambda code, encoding: 0.0, 0),  # codes that nothing decodes, as of clusters
    ],
)
def test_nearest_codes_that_pass_no_gradient_are_named(distances, loss, count):
    found = minimized.found(codes_without_gradient, lambda: by_hand(distances)(loss))
    assert found == ["CODES_WITHOUT_GRADIENT"] * count
