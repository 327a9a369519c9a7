"""Derivatives of products with a state that the step assigns, before or after them."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.memories.old_and_new import derivatives_of_new_values
from tests.legacy.saved.hazards.minimized import fed, found, variable

v1 = tf.compat.v1


def carried(resource=False, of_new=False, late=False):
    """A loss of w * state, where the state is assigned in between.

    Args:
      resource: whether it is a resource variable, of which a read is a copy.
      of_new: whether the product, too, waits for the assignment.
      late: whether the loss does not wait for it.
    """

    def loss():
        state = v1.get_variable("state", [4, 3], trainable=False, use_resource=resource)
        gate = fed("x", 4, 3) @ variable("w", 3, 3)
        assign = v1.assign(state, tf.tanh(fed("next", 4, 3)), name="assign").op
        with tf.control_dependencies([assign] if of_new else []):
            product = tf.multiply(gate, state)
        with tf.control_dependencies([] if late else [assign]):
            return tf.reduce_mean(tf.square(tf.identity(product)))

    return loss


@pytest.mark.parametrize(
    "loss, count",
    [(carried(), 1), (carried(resource=True), 0), (carried(of_new=True), 0), (carried(late=True), 0)],
)
def test_a_derivative_of_what_was_assigned_meanwhile_is_named(loss, count):
    assert found(derivatives_of_new_values, loss) == ["DERIVATIVE_OF_NEW_VALUE"] * count
