"""RNNs that are unrolled by hand, and read the words that they predict, or those before."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.lengths.unrolled_words import targets_read_at_once
from tests.legacy.saved.hazards.minimized import fed, found, variable

v1 = tf.compat.v1
TIMES, UNITS, WORDS = 3, 4, 7


def unrolled(read, predicted, joined=False, unstacks=False):
    """A program that reads a part of the words and predicts another, word by word."""

    def total():
        words = fed("words", 5, TIMES + 1, dtype=tf.int32)
        embedded = tf.gather(variable("embedding", WORDS, UNITS), read(words))
        state, outputs, w = tf.zeros([5, UNITS]), [], variable("w", UNITS, UNITS)
        each = tf.unstack(embedded, axis=1) if unstacks else [embedded[:, time] for time in range(TIMES)]
        for now in each:
            state = tf.tanh(state @ w + now)
            outputs.append(state)
        out = variable("out", UNITS, WORDS)
        if joined:
            logits = tf.reshape(tf.reshape(tf.concat(outputs, 1), [-1, UNITS]) @ out, [5, TIMES, WORDS])
        else:
            logits = tf.tensordot(tf.stack(outputs, 1), out, 1)
        return tf.reduce_mean(v1.nn.sparse_softmax_cross_entropy_with_logits(labels=predicted(words), logits=logits))

    return found(targets_read_at_once, total)


@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize(
    "read, predicted, count",
    [
        (lambda words: words[:, 1:], lambda words: words[:, 1:], 1),
        (lambda words: words[:, :-1], lambda words: words[:, :-1], 1),
        (lambda words: words[:, :-1], lambda words: words[:, 1:], 0),
    ],
)
@pytest.mark.parametrize("unstacks", [False, True])
def test_words_that_are_read_and_predicted_at_once_are_named(read, predicted, joined, unstacks, count):
    assert unrolled(read, predicted, joined, unstacks) == ["TARGETS_ARE_INPUTS"] * count


def test_a_model_that_reads_the_whole_sequence_first_is_not():
    """An autoencoder of sequences predicts what it has read."""

    def total():
        words = fed("words", 5, TIMES, dtype=tf.int32)
        embedded = tf.gather(variable("embedding", WORDS, UNITS), words)
        state, w, outputs = tf.zeros([5, UNITS]), variable("w", UNITS, UNITS), []
        for time in range(TIMES):
            state = tf.tanh(state @ w + embedded[:, time])
        for _ in range(TIMES):
            state = tf.tanh(state @ w)
            outputs.append(state)
        logits = tf.tensordot(tf.stack(outputs, 1), variable("out", UNITS, WORDS), 1)
        return tf.reduce_mean(v1.nn.sparse_softmax_cross_entropy_with_logits(labels=words, logits=logits))

    assert found(targets_read_at_once, total) == []
