"""Two views that a loss makes equal, and a hinge of their deviation that bounds it from below or from above."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.signs.deviation_hinges import deviations_bounded_above
from tests.legacy.saved.hazards.minimized import fed, found, variable


def centered(x):
    return tf.reduce_mean(tf.square(x - tf.reduce_mean(x, 0)), 0)


def without_bias(x):
    return tf.reduce_sum((x - tf.reduce_mean(x, 0)) ** 2, 0) / 7.0


def moments(x):
    return tf.nn.moments(x, [0])[1]


def views(hinge, variance=centered, stopped=False, apart=False, joined=True):
    """A function that makes the loss of two views of eight examples."""

    def total():
        first, second = (fed(name, 8, 4) @ variable("w", 4, 3) + variable("b", 3) for name in ("x", "y"))
        other = tf.stop_gradient(second) if stopped else second
        loss = tf.reduce_mean(tf.square(first - other)) if joined else tf.reduce_mean(tf.square(first - 1.0))
        loss += sum(tf.reduce_mean(hinge(tf.sqrt(variance(z) + 1e-4))) for z in (first, second))
        return loss - (tf.reduce_mean(tf.nn.log_softmax(first @ tf.transpose(second))) if apart else 0.0)

    def built():
        with tf.compat.v1.variable_scope("", reuse=tf.compat.v1.AUTO_REUSE):
            return total()

    return built


def above(deviation):
    return tf.nn.relu(deviation - 1.0)


def below(deviation):
    return tf.nn.relu(1.0 - deviation)


@pytest.mark.parametrize("variance", [centered, without_bias, moments])
@pytest.mark.parametrize("hinge, count", [(above, 1), (below, 0)])
def test_a_deviation_that_is_bounded_from_above_is_named(variance, hinge, count):
    assert found(deviations_bounded_above, views(hinge, variance)) == ["HINGE_REVERSED"] * count


@pytest.mark.parametrize("other", [{"stopped": True}, {"apart": True}, {"joined": False}])
def test_deviations_of_results_that_something_else_holds_apart_are_not_accused(other):
    assert not found(deviations_bounded_above, views(above, **other))


def test_a_norm_of_each_example_is_no_deviation_of_the_batch():
    def norm(x):
        return tf.reduce_mean(tf.square(x), 1)

    assert not found(deviations_bounded_above, views(above, norm))
