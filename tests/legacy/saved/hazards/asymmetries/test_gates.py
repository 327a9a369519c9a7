"""Gates that weigh an old state by z and a new one by 1 - z, or both alike."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.asymmetries.gates import gates_of_both_states
from tests.legacy.saved.hazards.minimized import fed, found, variable


@pytest.mark.parametrize(
    "state, count",
    [
        (lambda z, h, c: z * h + z * c, 1),
        (lambda z, h, c: z * tf.exp(h) + z * c, 0),  # a gate of two branches
        (lambda z, h, c: (1.0 - z) * h + z * c, 0),
        (lambda z, h, c: z * h + (1.0 - z) * c, 0),
        (lambda z, h, c: z * h + tf.sigmoid(h) * c, 0),  # as an LSTM has it
        (lambda z, h, c: h + z * c, 0),
    ],
)
def test_a_gate_of_both_states_is_named(state, count):
    def total():
        x = fed("x", 8, 4)
        h = x @ variable("h", 4, 3)
        z, c = tf.sigmoid(x @ variable("z", 4, 3)), tf.tanh(x @ variable("c", 4, 3) + h @ variable("u", 3, 3))
        return tf.reduce_mean(tf.square(state(z, h, c) - fed("y", 8, 3)))

    assert found(gates_of_both_states, total) == ["GATE_OF_BOTH_STATES"] * count
