"""Losses of large errors: smooth L1 with right and wrong parts."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.signs.element_functions import element_values
from legacy.saved.hazards.signs.far_errors import losses_of_large_errors
from tests.legacy.saved.hazards.minimized import fed, found, minimizing, variable
from workloads.lifted.graph import TensorId


def of_errors(element, weight=1.0):
    def loss():
        error = tf.subtract(fed("x", 8, 4) @ variable("w", 4, 3), fed("y", 8, 3), name="error")
        return weight * tf.reduce_mean(element(error))

    return loss


def chosen(far):
    """Half of the square of small errors, and `far(error)` of others."""
    return lambda error: tf.where(tf.abs(error) < 1.0, 0.5 * tf.square(error), far(error))


@pytest.mark.parametrize(
    "loss, count",
    [
        (of_errors(chosen(lambda error: tf.abs(error) - 0.5)), 0),
        (of_errors(chosen(lambda error: 0.5 - tf.abs(error))), 1),
        (of_errors(chosen(lambda error: error - 0.5)), 1),
        (of_errors(chosen(lambda error: tf.abs(error) + 0.5)), 0),  # a jump changes no gradient
        (of_errors(lambda error: tf.math.log(1.0 + tf.square(error))), 0),
        (of_errors(lambda error: tf.minimum(tf.abs(error), 1.0)), 0),
        (of_errors(lambda error: error), 0),
        (of_errors(lambda error: tf.abs(error) - 1e-3 * tf.square(error)), 1),
        (of_errors(lambda error: -tf.exp(-tf.square(error))), 0),
    ],
)
def test_losses_that_fall_with_large_errors_are_named(loss, count):
    assert found(losses_of_large_errors, loss) == ["LOSS_WITHOUT_BOUND"] * count


def test_functions_of_an_error_are_evaluated_up_to_other_data():
    whole = WholeGraph(minimizing(of_errors(lambda error: tf.abs(error, name="size") * fed("weight", 8, 3))))
    values = element_values(whole, TensorId("error", 0), np.array([-2.0, 1.0]))
    assert values["size"].tolist() == [2.0, 1.0] and "mul" not in values


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("far, count", [(tf.abs, 0), (lambda error: -tf.abs(error), 1)])
def test_an_exponential_that_overflows_where_errors_are_large_makes_no_warning(far, count):
    """As of a log-sum-exp, of which the loss is no linear function."""

    def loss():
        error = tf.subtract(fed("x", 8, 4) @ variable("w", 4, 3), fed("y", 8, 3), name="error")
        powers = tf.reduce_sum(tf.exp(tf.square(error)), 1)
        return tf.reduce_mean(chosen(far)(error)) + tf.reduce_mean(tf.math.log(powers))

    assert found(losses_of_large_errors, loss) == ["LOSS_WITHOUT_BOUND"] * count
