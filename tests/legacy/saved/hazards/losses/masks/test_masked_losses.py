"""Means over positions that a mask leaves out, beside clean twins."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.losses.masks.masked_losses import (
    counts_of_another_tower,
    masked_means,
    sums_over_all_positions,
)
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def given(shape):
    return v1.placeholder(tf.float32, shape, "weights")


def dropped(values):
    """Dropout, as 1.x computes it."""
    return values / 0.5 * tf.cast(v1.random_uniform([2, 3]) >= 0.5, tf.float32)


def fed_mask(shape=(2, 3)):
    try:
        mask = v1.get_default_graph().get_tensor_by_name("labels_mask:0")
    except KeyError:
        mask = v1.placeholder(tf.int32, shape, "labels_mask")
    return tf.cast(mask, tf.float32)


def words():
    return tf.cast(v1.placeholder(tf.int32, [2, 3], "words"), tf.float32)


def of_words(values, mask):
    """Features of each word, those of the padding set to 0."""
    return tf.stack([values, 2.0 * values], -1) * tf.expand_dims(mask, -1)


def normalized(values):
    """A layer normalization; its axis is counted from the front."""
    mean, variance = tf.nn.moments(values, [2], keepdims=True)
    return (values - mean) * tf.math.rsqrt(variance + 1e-6)


def zero(comparison):
    labels = v1.get_default_graph()
    try:
        given_labels = labels.get_tensor_by_name("labels:0")
    except KeyError:
        given_labels = v1.placeholder(tf.int32, [2, 3], "labels")
    return tf.cast(comparison(given_labels, 0), tf.float32)


@pytest.mark.parametrize(
    "mean, count",
    [
        (lambda values, mask: tf.reduce_mean(values * mask), 1),
        (lambda values, mask: tf.reduce_sum(values * mask) / tf.reduce_sum(mask), 0),
        (lambda values, mask: tf.reduce_mean(values * mask) / tf.reduce_mean(mask), 0),
        (lambda values, mask: tf.reduce_mean(values * (1.0 - mask)), 1),
        (lambda values, mask: tf.reduce_mean(values * mask) + tf.reduce_mean((3.0 - values) * (1.0 - mask)), 0),
        (lambda values, mask: tf.reduce_mean(values * mask) + tf.reduce_mean((3.0 - values) * mask), 1),
        (lambda values, mask: tf.reduce_mean(values * zero(tf.equal)) + tf.reduce_mean(values * zero(tf.not_equal)), 0),
        (lambda values, mask: tf.reduce_mean(values * tf.sign(words())), 1),
        (lambda values, mask: tf.reduce_sum(values * tf.sign(words())) / tf.reduce_sum(tf.sign(words())), 0),
        (lambda values, mask: tf.reduce_mean(values * tf.sign(given([2, 3]))), 0),  # labels of -1 and 1
        (lambda values, mask: tf.reduce_mean(values * tf.cast(values > 0.5, tf.float32)), 0),  # the hard examples
        (lambda values, mask: tf.reduce_mean(values * v1.placeholder(tf.float32, [2, 3], "weights")), 0),
        (lambda values, mask: tf.reduce_mean(-values * mask - tf.sin(values) * mask), 1),  # of pairs
        (lambda values, mask: tf.reduce_mean(-values * mask - tf.sin(values)), 0),
        (lambda values, mask: tf.reduce_sum(-values * mask - tf.sin(values) * mask) / tf.reduce_sum(mask), 0),
        (lambda values, mask: tf.reduce_mean(values * fed_mask()), 1),
        (lambda values, mask: tf.reduce_mean(values[:, :, None, None] * fed_mask([2, 3, 1, 1])), 0),  # a hole of pixels
        (lambda values, mask: tf.reduce_mean(values * (fed_mask() / tf.reduce_mean(fed_mask()))), 0),
        (lambda values, mask: tf.reduce_mean(dropped(values)), 0),  # random, and scaled up
        (lambda values, mask: tf.reduce_mean(dropped(values) * mask), 1),
        (lambda values, mask: tf.reduce_sum(tf.reduce_mean(of_words(values, mask), -1)), 0),  # of the features of each
        (lambda values, mask: tf.reduce_sum(tf.reduce_mean(of_words(values, mask), 1)), 1),  # of the words
        (lambda values, mask: tf.reduce_sum(normalized(of_words(values, mask))), 0),  # a layer, and no loss
        (lambda values, mask: tf.reduce_sum(normalized(of_words(values, mask))) + tf.reduce_mean(values * mask), 1),
    ],
)
def test_means_of_masked_values_are_named(mean, count):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        mask = tf.cast(v1.placeholder(tf.int32, [2, 3], "ids") > 0, tf.float32)
        loss = mean(tf.square(v1.placeholder(tf.float32, [2, 4], "x") @ w), mask)
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    found = masked_means(WholeGraph(saved(traced(build), trainable_variables=["w"])))
    assert [hazard.id for hazard in found] == ["MASKED_MEAN"] * count


def towers(loss, batch=6):
    """(graph, analysis) of two towers with losses of words: `loss` takes errors, words, lengths and all towers'."""

    def build():
        w, gradients = v1.get_variable("w", [9, 9], use_resource=False), []
        size = None if batch is None else 2 * batch
        fed = [v1.placeholder(tf.int32, shape, name) for name, shape in (("words", [size, 5]), ("lengths", [size]))]
        parts = list(zip(*(tf.split(one, 2) for one in fed)))
        for tower, (words, lengths) in enumerate(parts):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                logits = tf.reshape(tf.reshape(tf.one_hot(words, 9), [-1, 9]) @ w, [-1, 5, 9])
                errors = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=words, logits=logits)
                gradients.append(tf.gradients(loss(errors, words, lengths, parts), [w])[0])
        v1.train.GradientDescentOptimizer(0.1).apply_gradients([(tf.add_n(gradients) / 2.0, w)], name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    return graph, analyse_graph(graph, "small", ["train"])


def masked(errors, lengths):
    return tf.reduce_sum(errors * tf.sequence_mask(lengths, 5, tf.float32))


def number(counts):
    return tf.cast(counts, tf.float32)


@pytest.mark.parametrize(
    "loss, batch, count",
    [
        (lambda errors, words, lengths, _: masked(errors, lengths) / 30.0, 6, 1),
        (lambda errors, words, lengths, _: masked(errors, lengths) / number(tf.size(words)), None, 1),
        (lambda errors, words, lengths, _: masked(errors, lengths) / number(tf.reduce_prod(tf.shape(words))), None, 1),
        (lambda errors, words, lengths, _: masked(errors, lengths) / 6.0, 6, 0),  # a mean over examples
        (lambda errors, words, lengths, _: masked(errors, lengths) / number(tf.size(lengths)), None, 0),
        (lambda errors, words, lengths, _: masked(errors, lengths) / number(tf.reduce_sum(lengths)), 6, 0),
        (lambda errors, words, lengths, _: tf.reduce_sum(errors) / 30.0, 6, 0),
        (lambda errors, words, lengths, _: masked(errors, lengths) / 30.0, None, 0),  # the batch may have any size
    ],
)
def test_masked_sums_over_the_number_of_all_positions_are_named(loss, batch, count):
    graph, found = towers(loss, batch)
    hazards = list(sums_over_all_positions(WholeGraph(graph, found), found))
    assert [hazard.id for hazard in hazards] == ["MASKED_MEAN"] * count


@pytest.mark.parametrize(
    "divisor, count",
    [
        (lambda lengths, parts: tf.reduce_sum(parts[0][1]), 1),
        (lambda lengths, parts: tf.reduce_sum(tf.cast(tf.sequence_mask(parts[0][1], 5), tf.int32)), 1),
        (lambda lengths, parts: tf.reduce_sum(lengths), 0),
        (lambda lengths, parts: tf.reduce_sum(parts[0][1]) + tf.reduce_sum(parts[1][1]), 0),
        (lambda lengths, parts: tf.size(lengths), 0),
    ],
)
def test_the_count_of_another_towers_words_is_named(divisor, count):
    graph, found = towers(
        lambda errors, words, lengths, parts: masked(errors, lengths) / number(divisor(lengths, parts))
    )
    hazards = list(counts_of_another_tower(WholeGraph(graph, found)))
    assert [hazard.id for hazard in hazards] == ["COUNT_OF_ANOTHER_TOWER"] * count
