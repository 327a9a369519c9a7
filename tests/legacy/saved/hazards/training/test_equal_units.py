"""Layers whose weights begin as one number each, beside those whose units something tells apart."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.training.equal_units import units_that_stay_equal
from tests.legacy.saved.hazards.minimized import fed, found, variable

v1 = tf.compat.v1


def of_number(name, shape, number):
    """A weight that begins as one number, or at random."""
    if number is None:
        return variable(name, *shape)
    return v1.get_variable(name, shape, initializer=v1.constant_initializer(number), use_resource=False)


@pytest.mark.parametrize(
    "first, bias, second, units, count",
    [
        (0.1, 0.0, 0.1, 3, 1),
        (0.0, 0.5, 0.1, 3, 1),
        (0.1, None, 0.1, 3, 0),  # biases that tell the units apart
        (None, 0.0, 0.1, 3, 0),
        (0.1, 0.0, None, 3, 0),
        (0.1, 0.0, 0.1, 1, 0),  # one unit
        (0.0, 0.0, 0.0, 3, 0),  # LAYERS_OF_ZEROS
    ],
)
def test_units_that_begin_alike_and_stay_so_are_named(first, bias, second, units, count):
    def loss():
        x = fed("x", 2, 4)
        hidden = tf.sigmoid(x @ of_number("u", [4, units], first) + of_number("b", [units], bias))
        return tf.reduce_mean(tf.square(hidden @ of_number("v", [units, 1], second)))

    assert found(units_that_stay_equal, loss) == ["UNITS_STAY_EQUAL"] * count


def test_units_that_dropout_tells_apart_are_not():
    def loss():
        x = fed("x", 2, 4)
        hidden = tf.nn.dropout(tf.sigmoid(x @ of_number("u", [4, 3], 0.1)), rate=0.5)
        return tf.reduce_mean(tf.square(hidden @ of_number("v", [3, 1], 0.1)))

    assert found(units_that_stay_equal, loss) == []
