"""Causal masks and normalizations that show later words, beside those that do not."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.hazards.lengths import lookahead
from tests.legacy.saved.hazards.minimized import fed, found, found_by_analysis, variable

v1 = tf.compat.v1
ONES = np.ones([6, 6], np.float32)


def decoder(mask, axis=-1):
    def total():
        x = tf.gather(variable("words", 9, 4), fed("x", 2, 6, dtype=tf.int32))
        mean, variance = v1.nn.moments(x, [axis], keep_dims=True)
        x = (x - mean) * tf.math.rsqrt(variance + 1e-6) @ variable("w", 4, 4)
        kept = mask()
        scores = tf.matmul(x, x, transpose_b=True) * kept - 1e9 * (1.0 - kept)
        labels = fed("y", 2, 6, dtype=tf.int32)
        logits = tf.matmul(tf.nn.softmax(scores), x)
        return tf.reduce_mean(v1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))

    return total


def band(lower, upper):
    return lambda: tf.linalg.band_part(tf.ones([6, 6]), lower, upper)


@pytest.mark.parametrize(
    "mask, count",
    [
        (band(-1, 1), 1),
        (lambda: tf.constant(np.tril(ONES, 1)), 1),
        (band(-1, 0), 0),
        (band(-1, -1), 0),  # no mask
        (band(2, 2), 0),  # a window
        (lambda: tf.constant(np.tril(ONES)), 0),
        (lambda: tf.constant(np.triu(ONES)), 0),
    ],
)
def test_a_causal_mask_that_is_off_by_one_is_named(mask, count):
    assert found(lookahead.masks_off_by_one, decoder(mask)) == ["WORDS_READ_AHEAD"] * count


@pytest.mark.parametrize("axis, mask, count", [(1, band(-1, 0), 1), (-1, band(-1, 0), 0), (1, band(-1, -1), 0)])
def test_moments_along_the_times_are_named_beside_a_causal_mask(axis, mask, count):
    assert found_by_analysis(lookahead.moments_of_times, decoder(mask, axis)) == ["WORDS_READ_AHEAD"] * count


@pytest.mark.parametrize(
    "mask, count",
    [
        (lambda i, j: i[:, None] >= j, 1),
        (lambda i, j: i[:, None] >= j - tf.size(j) + tf.size(i), 1),  # as a decoder with a past counts
        (lambda i, j: tf.expand_dims(j, 0) <= tf.expand_dims(i, 1), 1),
        (lambda i, j: i[:, None] <= j, 0),  # the later words
        (lambda i, j: i[:, None] >= j - 1, 0),  # and one ahead
        (lambda i, j: i[:, None] >= j[:, None], 0),  # no mask
    ],
)
def test_positions_that_are_compared_are_a_causal_mask(mask, count):
    def total():
        ids = fed("ids", 2, 7, dtype=tf.int32)
        table, places = variable("words", 9, 4), tf.range(7)
        kept = tf.cast(mask(places, tf.range(7)), tf.float32)
        x = tf.gather(table, ids)
        x += tf.matmul(tf.nn.softmax(tf.matmul(x, x, transpose_b=True) * kept - 1e9 * (1.0 - kept)), x)
        logits = tf.reshape(tf.matmul(tf.reshape(x, [-1, 4]), table, transpose_b=True), [2, 7, 9])
        return tf.reduce_mean(v1.nn.sparse_softmax_cross_entropy_with_logits(labels=ids, logits=logits))

    assert found(lookahead.targets_read_by_attention, total) == ["TARGETS_ARE_INPUTS"] * count


@pytest.mark.parametrize(
    "read, predicted, causal, count",
    [
        (lambda ids: ids, lambda ids: ids, True, 1),
        (lambda ids: ids[:, :-1], lambda ids: ids[:, :-1], True, 1),
        (lambda ids: ids[:, :-1], lambda ids: ids[:, 1:], True, 0),
        (lambda ids: ids, lambda ids: fed("y", 2, 7, dtype=tf.int32), True, 0),
        (lambda ids: tf.pad(ids, [[0, 0], [1, 0]])[:, :-1], lambda ids: ids, True, 0),
        (lambda ids: ids, lambda ids: ids, False, 0),  # an autoencoder
    ],
)
def test_a_model_with_a_causal_mask_that_reads_what_it_predicts_is_named(read, predicted, causal, count):
    def total():
        ids = fed("ids", 2, 7, dtype=tf.int32)
        table, words = variable("words", 9, 4), read(ids)
        kept = tf.linalg.band_part(tf.ones([words.shape[1]] * 2), -1, 0 if causal else -1)
        x = tf.gather(table, words) + variable("places", words.shape[1], 4)
        mean, variance = v1.nn.moments(x, [-1], keep_dims=True)
        normal = (x - mean) * tf.math.rsqrt(variance + 1e-6)
        scores = tf.matmul(normal, normal, transpose_b=True) * kept - 1e9 * (1.0 - kept)
        x += tf.matmul(tf.nn.softmax(scores), normal)
        logits = tf.matmul(tf.reshape(x, [-1, 4]), table, transpose_b=True)
        labels = tf.reshape(predicted(ids), [-1])
        return tf.reduce_mean(v1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))

    assert found(lookahead.targets_read_by_attention, total) == ["TARGETS_ARE_INPUTS"] * count


@pytest.mark.parametrize("of_source, count", [(True, 0), (False, 1)])
def test_moments_of_what_a_decoder_attends_to_are_not_named(of_source, count):
    def total():
        source, words = (tf.gather(variable(name, 9, 4), fed(name + "_ids", 2, 6, dtype=tf.int32)) for name in "sw")
        both = []
        for sequence, is_normalized in ((source, of_source), (words, not of_source)):
            mean, variance = v1.nn.moments(sequence, [1], keep_dims=True)
            both.append((sequence - mean) * tf.math.rsqrt(variance + 1e-6) if is_normalized else sequence)
        source, words = both[0] @ variable("k", 4, 4), both[1] @ variable("q", 4, 4)
        kept = band(-1, 0)()
        words += tf.matmul(tf.nn.softmax(tf.matmul(words, words, transpose_b=True) - 1e9 * (1.0 - kept)), words)
        words += tf.matmul(tf.nn.softmax(tf.matmul(words, source, transpose_b=True)), source)
        labels = fed("y", 2, 6, dtype=tf.int32)
        return tf.reduce_mean(v1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=words))

    assert found_by_analysis(lookahead.moments_of_times, total) == ["WORDS_READ_AHEAD"] * count


@pytest.mark.parametrize("of_own, count", [(True, 1), (False, 0)])
@pytest.mark.parametrize("is_mask", [True, False])
def test_frames_that_are_given_labels_may_be_read_ahead(of_own, count, is_mask):
    """A tagger of frames, beside a model that predicts the next frame."""

    def total():
        x = fed("x", 2, 6, 4)
        mean, variance = v1.nn.moments(x, [-1 if is_mask else 1], keep_dims=True)
        hidden = (x - mean) * tf.math.rsqrt(variance + 1e-6) @ variable("w", 4, 4)
        kept = band(-1, 1 if is_mask else 0)()
        results = tf.nn.softmax(tf.matmul(hidden, hidden, transpose_b=True) * kept - 1e9 * (1.0 - kept)) @ hidden
        target = tf.pad(x[:, 1:], [[0, 0], [0, 1], [0, 0]]) if of_own else fed("y", 2, 6, 4)
        return tf.reduce_mean(tf.square(results - target))

    own = found(lookahead.masks_off_by_one, total) if is_mask else found_by_analysis(lookahead.moments_of_times, total)
    assert own == ["WORDS_READ_AHEAD"] * count
