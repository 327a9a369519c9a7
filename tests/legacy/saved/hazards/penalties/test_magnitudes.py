"""Penalties of absolute weights, and sums of weights with their signs."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.penalties.magnitudes import sums_of_weights
from tests.legacy.saved.hazards import minimized


@pytest.mark.parametrize(
    "penalty, sizes, count",
    [
        (tf.reduce_sum, (4, 3), 1),
        (lambda w: -tf.reduce_mean(w), (4, 3), 1),
        (lambda w: tf.reduce_sum(tf.abs(w)), (4, 3), 0),
        (lambda w: tf.reduce_sum(tf.square(w)), (4, 3), 0),
        (tf.reduce_sum, (1, 3), 0),  # as the entropy of a policy, of logarithms of deviations
    ],
)
def test_a_sum_of_weights_with_their_signs_is_named(penalty, sizes, count):
    def loss():
        weight = minimized.variable("w", *sizes)
        return tf.reduce_mean(tf.square(minimized.fed("x", 6, sizes[0]) @ weight)) + 1e-4 * penalty(weight)

    assert minimized.found(sums_of_weights, loss) == ["PENALTY_WITHOUT_MAGNITUDE"] * count
