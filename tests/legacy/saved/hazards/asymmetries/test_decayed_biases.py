"""Weight decay of few biases, of none, and of all."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.asymmetries.decayed_biases import biases_decayed_alone
from tests.legacy.saved.hazards.minimized import fed, found, variable


@pytest.mark.parametrize(
    "weights, biases, count",
    [
        ((0, 1, 2), (1,), 1),
        ((0, 1, 2), (), 0),
        ((0, 1, 2), (0, 1, 2), 0),
        ((0, 1, 2), (0, 1), 0),
        ((1,), (1,), 0),  # one layer decays, with its bias
    ],
)
def test_a_bias_that_decays_alone_is_named(weights, biases, count):
    def total():
        h, penalty = fed("x", 8, 4), 0.0
        for layer in range(3):
            w, b = variable(f"w{layer}", 4, 4), variable(f"b{layer}", 4)
            h = tf.nn.relu(tf.nn.bias_add(h @ w, b))
            penalty += 0.01 * tf.nn.l2_loss(w) if layer in weights else 0.0
            penalty += 0.01 * tf.nn.l2_loss(b) if layer in biases else 0.0
        return tf.reduce_mean(tf.square(h - fed("y", 8, 4))) + penalty

    assert found(biases_decayed_alone, total) == ["BIAS_DECAYED"] * count
