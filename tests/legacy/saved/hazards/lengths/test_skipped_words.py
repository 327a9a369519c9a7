"""Labels that are the next words of a text, and the words after these."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.lengths.skipped_words import words_skipped
from tests.legacy.saved.hazards import minimized


def model(words, labels, looks_up=True):
    def loss():
        text = minimized.fed("text", 4, 8, dtype=tf.int32)
        table = minimized.variable("table", 9, 3)
        read = words(text)
        rows = tf.gather(table, read) if looks_up else tf.cast(read, tf.float32)[..., None] * table[0]
        logits = tf.tensordot(tf.tanh(rows), minimized.variable("w", 3, 9), 1)
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels(text), logits=logits))

    return loss


@pytest.mark.parametrize(
    "words, labels, count",
    [
        (lambda text: text[:, :6], lambda text: text[:, 2:], 1),
        (lambda text: tf.slice(text, [0, 1], [4, 4]), lambda text: tf.slice(text, [0, 4], [4, 4]), 1),
        (lambda text: text[:, :7], lambda text: text[:, 1:], 0),
        (lambda text: text[:, 2:], lambda text: text[:, :6], 0),  # an earlier word
        (lambda text: text, lambda text: text, 0),
        (lambda text: text[:2, :], lambda text: text[2:, :], 0),  # other examples
    ],
)
def test_labels_two_words_ahead_are_named(words, labels, count):
    assert minimized.found(words_skipped, model(words, labels)) == ["WORDS_SKIPPED"] * count


def test_numbers_that_no_table_has_may_be_predicted_far_ahead():
    loss = model(lambda text: text[:, :6], lambda text: text[:, 2:], looks_up=False)
    assert minimized.found(words_skipped, loss) == []
