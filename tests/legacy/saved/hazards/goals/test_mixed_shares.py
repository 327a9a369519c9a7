"""Examples that are mixed with others by shares that add up to one, or do not."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.goals.mixed_shares import shares_that_do_not_add_up
from tests.legacy.saved.hazards.minimized import fed, found, variable

v1 = tf.compat.v1


@pytest.mark.parametrize(
    "mix, count",
    [
        (lambda x, r: r * x + r * tf.reverse(x, [0]), 1),
        (lambda x, r: (1.0 - r) * x + (1.0 - r) * tf.reverse(x, [0]), 1),
        (lambda x, r: r * x + (1.0 - r) * tf.reverse(x, [0]), 0),
        (lambda x, r: r * x + r * tf.reverse(tf.square(x), [0]), 0),
        (lambda x, r: 0.5 * x + 0.5 * tf.reverse(x, [0]), 0),
    ],
)
def test_shares_that_do_not_add_up_are_named(mix, count):
    def total():
        mixed = mix(fed("x", 8, 4), v1.random_uniform([8, 1]))
        return tf.reduce_mean(tf.square(mixed @ variable("w", 4, 3)))

    assert found(shares_that_do_not_add_up, total) == ["SHARES_DO_NOT_ADD_UP"] * count
