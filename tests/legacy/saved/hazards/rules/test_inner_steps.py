"""Steps within a loss that follow a gradient down, or up."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.rules.inner_steps import inner_steps_upwards
from tests.legacy.saved.hazards.minimized import fed, found, variable


def adapted(step, inner=lambda error: tf.reduce_mean(tf.square(error))):
    """A program of the error of weights that are adapted to other examples by `step(w, gradient)`."""

    def total():
        w = variable("w", 4, 1)
        (gradient,) = tf.gradients(inner(fed("xa", 8, 4) @ w - fed("ya", 8, 1)), [w])
        return tf.reduce_mean(tf.square(fed("xb", 8, 4) @ step(w, gradient) - fed("yb", 8, 1)))

    return found(inner_steps_upwards, total)


@pytest.mark.parametrize(
    "step, count",
    [
        (lambda w, g: w + 0.01 * g, 1),
        (lambda w, g: w - (-0.01) * g, 1),
        (lambda w, g: w - 0.01 * g, 0),
        (lambda w, g: w + 0.01 * -g, 0),
        (lambda w, g: w + 0.01 * g / tf.norm(g), 0),  # of an adversary
    ],
)
def test_an_inner_step_upwards_is_named(step, count):
    assert adapted(step) == ["LOSS_MAXIMIZED"] * count


def test_a_step_towards_a_larger_return_is_not():
    assert adapted(lambda w, g: w + 0.01 * g, tf.reduce_mean) == []
