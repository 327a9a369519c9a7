"""Weights that are rounded without a straight-through estimate, beside those that have one."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.training.untrained_by_steps import variables_behind_rounding
from tests.legacy.saved.hazards.minimized import fed, found, variable

v1 = tf.compat.v1


def overridden(x):
    with v1.get_default_graph().gradient_override_map({"Sign": "Identity"}):
        return tf.sign(x)


@pytest.mark.parametrize("place", ["weights", "layer"])
@pytest.mark.parametrize(
    "rounded, count",
    [
        (tf.sign, 1),
        (lambda x: tf.round(x * 15.0) / 15.0, 1),
        (lambda x: x + tf.stop_gradient(tf.sign(x) - x), 0),
        (overridden, 0),
        (lambda x: tf.stop_gradient(tf.sign(x)), 0),  # by intention
        (lambda x: tf.tanh(x), 0),
        (lambda x: x * tf.sign(x), 0),
    ],
)
def test_rounding_without_a_gradient_is_named(rounded, count, place):
    def loss():
        x, w = fed("x", 8, 4), variable("w", 4, 3)
        h = x @ rounded(w) if place == "weights" else rounded(x @ w)
        return tf.reduce_mean(tf.square(h @ variable("v", 3, 1) - fed("y", 8, 1)))

    assert found(variables_behind_rounding, loss) == ["ROUNDED_WITHOUT_GRADIENT"] * count


def test_rounding_of_data_is_not():
    def loss():
        return tf.reduce_mean(tf.square(tf.floor(fed("x", 8, 4)) @ variable("w", 4, 1)))

    assert found(variables_behind_rounding, loss) == []
