"""Weight decay of usual rates, and of a batch size."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.penalties.overwhelming import overwhelming_penalties
from tests.legacy.saved.hazards import minimized

v1 = tf.compat.v1


@pytest.mark.parametrize(
    "reduce, rate, count",
    [
        (tf.reduce_mean, 20.0, 1),
        (tf.reduce_mean, 1.0, 0),
        (tf.reduce_mean, 5e-4, 0),
        (tf.reduce_sum, 20.0, 0),
        (lambda losses: 10.0 * tf.reduce_mean(losses), 20.0, 0),  # the whole loss has a weight
        (lambda losses: tf.reduce_mean(tf.reduce_sum(tf.reshape(losses, [2, 4]), 1)), 20.0, 0),  # of a sequence
    ],
)
def test_a_decay_of_ten_times_the_mean_cross_entropy_is_named(reduce, rate, count):
    def loss():
        weight = minimized.variable("w", 4, 3)
        labels = minimized.fed("y", 8, dtype=tf.int32)
        losses = v1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=minimized.fed("x", 8, 4) @ weight)
        return reduce(losses) + rate * tf.nn.l2_loss(weight)

    assert minimized.found(overwhelming_penalties, loss) == ["PENALTY_OVERWHELMING"] * count


@pytest.mark.parametrize("error", [tf.square, tf.abs])
def test_other_errors_may_be_large(error):
    def loss():
        weight = minimized.variable("w", 4, 1)
        return tf.reduce_mean(error(minimized.fed("x", 8, 4) @ weight)) + 20.0 * tf.nn.l2_loss(weight)

    assert minimized.found(overwhelming_penalties, loss) == []
