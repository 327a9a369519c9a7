"""Spectral norms by power iterations from a vector that the program keeps, or that stays."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.rules.power_iterations import iterations_that_begin_anew
from tests.legacy.saved.hazards.minimized import fed, found, variable

v1 = tf.compat.v1


def normalized(keeps, steps=1):
    """A program of x @ w / norm(w) by some power iterations."""

    def total():
        w = variable("w", 4, 3)
        start = vector = v1.get_variable("u", [1, 3], trainable=False, use_resource=False)
        for _ in range(steps):
            other = tf.math.l2_normalize(vector @ tf.transpose(w))
            vector = tf.math.l2_normalize(other @ w)
        other, vector = tf.stop_gradient(other), tf.stop_gradient(vector)
        norm = tf.reduce_sum(other @ w @ tf.transpose(vector))
        if keeps:
            v1.assign(start, vector, name="keep")
        return tf.reduce_mean(tf.square(fed("x", 8, 4) @ (w / norm)))

    return found(iterations_that_begin_anew, total)


@pytest.mark.parametrize("keeps, steps, count", [(False, 1, 1), (True, 1, 0), (False, 5, 0)])
def test_one_iteration_from_a_vector_that_stays_is_named(keeps, steps, count):
    assert normalized(keeps, steps) == ["POWER_ITERATION_BEGINS_ANEW"] * count
