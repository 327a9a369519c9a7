"""Masks of lengths that keep the words of a sequence, and the padding."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.lengths.inverted_masks import losses_of_padding
from tests.legacy.saved.hazards import minimized

TIMES = 5


@pytest.mark.parametrize(
    "weight, count",
    [
        (lambda mask: 1.0 - tf.cast(mask, tf.float32), 1),
        (lambda mask: tf.cast(tf.logical_not(mask), tf.float32), 1),
        (lambda mask: tf.cast(mask, tf.float32), 0),
        (lambda mask: 1.0 - tf.cast(tf.logical_not(mask), tf.float32), 0),
        (lambda mask: 1.0, 0),
    ],
)
def test_a_loss_of_the_padding_alone_is_named(weight, count):
    def loss():
        logits = tf.reshape(minimized.fed("x", 4, TIMES, 3), [-1, 3]) @ minimized.variable("w", 3, 6)
        labels = minimized.fed("y", 4, TIMES, dtype=tf.int32)
        entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=labels, logits=tf.reshape(logits, [4, TIMES, 6])
        )
        return tf.reduce_sum(entropy * weight(tf.sequence_mask(minimized.fed("lengths", 4, dtype=tf.int32), TIMES)))

    assert minimized.found(losses_of_padding, loss) == ["LOSS_OF_PADDING"] * count
