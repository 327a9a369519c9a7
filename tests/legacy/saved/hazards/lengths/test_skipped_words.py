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


def heads(words, *targets, layer=lambda rows: rows):
    """A model with one layer of logits for each (labels, logits of which times)."""

    def loss():
        text = minimized.fed("text", 4, 8, dtype=tf.int32)
        rows = layer(tf.gather(minimized.variable("table", 9, 3), words(text)))
        total = 0.0
        for place, (labels, chosen) in enumerate(targets):
            logits = chosen(tf.tensordot(rows, minimized.variable(f"w{place}", 3, 9), 1))
            total += tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels(text), logits=logits))
        return total

    return loss


def every(logits):
    return logits


@pytest.mark.parametrize(
    "loss",
    [
        heads(lambda text: text[:, :6], (lambda text: text[:, 1:7], every), (lambda text: text[:, 2:], every)),
        heads(lambda text: text[:, 2:6], (lambda text: text[:, 1:5], every), (lambda text: text[:, 4:], every)),
        heads(lambda text: text[:, :7], (lambda text: text[:, 3:], lambda logits: logits[:, 2:])),
        heads(
            lambda text: text[:, :7],
            (lambda text: text[:, 3:], every),
            layer=lambda rows: tf.nn.conv1d(rows, minimized.variable("k", 3, 3, 3), 1, "VALID"),
        ),
    ],
)
def test_words_around_each_and_times_that_a_model_leaves_out_are_not_skipped(loss):
    assert minimized.found(words_skipped, loss) == []
