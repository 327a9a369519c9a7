"""Masks of attention: inverted, or multiplied before the softmax, beside masks of the padding."""

import pytest
import tensorflow as tf

from legacy.saved.facts.whole_graph import WholeGraph
from legacy.saved.hazards.models.attention import inverted_masks, multiplied_masks
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def found(check, shares):
    """The hazards of `shares`, which gets scores [2, 5, 5] and word numbers [2, 5]."""

    def build():
        ids = v1.placeholder(tf.int32, [2, 5], "ids")
        w = v1.get_variable("w", [9, 4], use_resource=False)
        words = tf.gather(w, ids)
        loss = tf.reduce_mean(tf.square(shares(tf.matmul(words, words, transpose_b=True), ids) @ words))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    return [hazard.id for hazard in check(WholeGraph(saved(traced(build), trainable_variables=["w"])))]


def words(ids):
    return tf.cast(tf.not_equal(ids, 0), tf.float32)[:, tf.newaxis, :]


def padding(ids):
    return tf.cast(tf.equal(ids, 0), tf.float32)[:, tf.newaxis, :]


def of_lengths(ids):
    return tf.sequence_mask(tf.reduce_sum(tf.cast(ids > 0, tf.int32), 1), 5, tf.float32)[:, tf.newaxis, :]


@pytest.mark.parametrize(
    "bias",
    [
        lambda ids: words(ids) * -1e9,
        lambda ids: (1.0 - padding(ids)) * -1e9,
        lambda ids: padding(ids) * 1e9,
        lambda ids: of_lengths(ids) * -1e4,
    ],
)
def test_a_mask_of_the_words_is_named(bias):
    assert found(inverted_masks, lambda scores, ids: tf.nn.softmax(scores + bias(ids))) == ["MASK_INVERTED"]


@pytest.mark.parametrize(
    "bias",
    [
        lambda ids: padding(ids) * -1e9,
        lambda ids: (1.0 - words(ids)) * -1e9,
        lambda ids: (1.0 - of_lengths(ids)) * -1e9,
        lambda ids: words(ids) * -0.5,  # a weight, no mask
    ],
)
def test_a_mask_of_the_padding_is_not(bias):
    assert found(inverted_masks, lambda scores, ids: tf.nn.softmax(scores + bias(ids))) == []


def test_a_mask_that_multiplies_scores_is_named():
    shares = lambda scores, ids: tf.nn.softmax(scores * words(ids))  # noqa: E731
    assert found(multiplied_masks, shares) == ["MASK_BEFORE_SOFTMAX"]


@pytest.mark.parametrize(
    "shares",
    [
        lambda scores, ids: tf.nn.softmax(scores * words(ids)) * words(ids),
        lambda scores, ids: tf.nn.softmax(scores * 0.5),
        lambda scores, ids: tf.nn.softmax(scores) * words(ids),
    ],
)
def test_a_mask_of_shares_is_not(shares):
    assert found(multiplied_masks, shares) == []
