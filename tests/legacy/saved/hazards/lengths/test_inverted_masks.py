"""Masks of lengths that keep the words of a sequence, and the padding."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.lengths.inverted_masks import losses_of_padding
from tests.legacy.saved.hazards import minimized

v1 = tf.compat.v1
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
        mask = tf.sequence_mask(minimized.fed("lengths", 4, dtype=tf.int32), TIMES)
        return tf.reduce_sum(entropy * weight(mask)) / tf.reduce_sum(tf.cast(mask, tf.float32))

    assert minimized.found(losses_of_padding, loss) == ["LOSS_OF_PADDING"] * count


def running(lengths):
    """Results of a loop that examples leave behind their ends."""

    def step(time, state):
        return time + 1, v1.where(time >= lengths, state, tf.tanh(state + minimized.variable("state", 3)))

    return tf.while_loop(lambda time, _: time < TIMES, step, (0, tf.zeros([4, 3])))[1]


@pytest.mark.parametrize("is_whole, count", [(True, 1), (False, 0)])
def test_a_text_that_is_continued_has_a_loss_behind_what_is_given(is_whole, count):
    """Lengths of whole sequences stop a loop, too; a mask of what is given of a text says nothing of its end."""

    def loss():
        lengths = minimized.fed("lengths", 4, dtype=tf.int32)
        x = minimized.fed("x", 4, TIMES, 3)
        if is_whole:
            x = x + running(lengths)[:, None]
        logits = tf.reshape(tf.reshape(x, [-1, 3]) @ minimized.variable("w", 3, 6), [4, TIMES, 6])
        labels = minimized.fed("y", 4, TIMES, dtype=tf.int32)
        entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        behind = 1.0 - tf.sequence_mask(lengths, TIMES, tf.float32)
        return tf.reduce_sum(entropy * behind) / tf.reduce_sum(behind)

    assert minimized.found(losses_of_padding, loss) == ["LOSS_OF_PADDING"] * count
