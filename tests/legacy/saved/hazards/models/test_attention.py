"""Masks of attention: inverted, or multiplied before the softmax, beside masks of the padding."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.models.attention import inverted_masks, multiplied_masks
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.saved.hazards import minimized

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


def found_in_memory(check, shares):
    """The hazards of `shares`, which gets scores [2, 5] of memories and word numbers [2, 5, 3]."""

    def loss():
        ids, w = minimized.fed("ids", 2, 5, 3, dtype=tf.int32), minimized.variable("w", 9, 4)
        memories = tf.reduce_sum(tf.gather(w, ids), 2)
        scores = tf.reduce_sum(memories * minimized.fed("query", 2, 1, 4), 2)
        return tf.reduce_mean(tf.square(tf.reduce_sum(shares(scores, ids)[:, :, tf.newaxis] * memories, 1)))

    return minimized.found(check, loss)


@pytest.mark.parametrize(
    "check, shares, count",
    [
        (inverted_masks, lambda scores, any_word, all_padding: tf.nn.softmax(scores - 1e9 * any_word), 1),
        (inverted_masks, lambda scores, any_word, all_padding: tf.nn.softmax(scores - 1e9 * (1.0 - all_padding)), 1),
        (inverted_masks, lambda scores, any_word, all_padding: tf.nn.softmax(scores - 1e9 * all_padding), 0),
        (inverted_masks, lambda scores, any_word, all_padding: tf.nn.softmax(scores - 1e9 * (1.0 - any_word)), 0),
        (multiplied_masks, lambda scores, any_word, all_padding: tf.nn.softmax(scores * any_word), 1),
        (multiplied_masks, lambda scores, any_word, all_padding: tf.nn.softmax(scores) * any_word, 0),
    ],
)
def test_a_memory_is_padding_where_all_its_words_are(check, shares, count):
    def of_ids(scores, ids):
        any_word = tf.cast(tf.reduce_any(ids > 0, 2), tf.float32)
        return shares(scores, any_word, tf.cast(tf.reduce_all(tf.equal(ids, 0), 2), tf.float32))

    name = "MASK_INVERTED" if check is inverted_masks else "MASK_BEFORE_SOFTMAX"
    assert found_in_memory(check, of_ids) == [name] * count


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


@pytest.mark.parametrize(
    "rows, is_looked_up, count",
    [(4, True, 0), (9, False, 0), (20, True, 1)],
)
def test_a_mask_of_types_or_of_flags_is_none_of_words(rows, is_looked_up, count):
    """Another input than the words says where attention looks: types of words, or flags of the padding."""

    def shares(scores, ids):
        types = v1.placeholder(tf.int32, [2, 5], "types")
        if is_looked_up:
            scores += tf.reduce_mean(tf.gather(v1.get_variable("types", [rows, 3], use_resource=False), types), -1)[
                :, None
            ]
        return tf.nn.softmax(scores + words(types) * -1e9)

    assert found(inverted_masks, shares) == ["MASK_INVERTED"] * count


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


def chosen(mask, first, second):
    return lambda scores, ids: tf.nn.softmax(v1.where(mask(scores, ids), first(scores), second(scores)))


def is_word(scores, ids):
    return tf.tile(tf.not_equal(ids, 0)[:, tf.newaxis, :], [1, 5, 1])


def low(scores):
    return -1e9 * tf.ones_like(scores)


@pytest.mark.parametrize(
    "shares, count",
    [
        (chosen(is_word, low, tf.identity), 1),
        (chosen(is_word, tf.identity, low), 0),
        (chosen(is_word, lambda scores: tf.fill([2, 5, 5], -1e9), tf.identity), 1),
        (chosen(lambda scores, ids: tf.logical_not(is_word(scores, ids)), low, tf.identity), 0),
    ],
)
def test_a_where_that_masks_the_words_is_named(shares, count):
    assert found(inverted_masks, shares) == ["MASK_INVERTED"] * count


def causal(scores):
    return tf.linalg.band_part(tf.ones([5, 5]), -1, 0)


@pytest.mark.parametrize(
    "shares, count",
    [
        (lambda scores, ids: tf.nn.softmax(scores * causal(scores) / 2.0), 1),
        (
            lambda scores, ids: tf.nn.softmax(
                scores * tf.constant([[float(j <= i) for j in range(5)] for i in range(5)])
            ),
            1,
        ),
        (lambda scores, ids: tf.nn.softmax(scores / 2.0 + (1.0 - causal(scores)) * -1e9), 0),
        (lambda scores, ids: tf.nn.softmax(scores * tf.linalg.band_part(tf.ones([5, 5]), 1, 1)), 0),
        (lambda scores, ids: tf.nn.softmax(scores / 2.0) * causal(scores), 0),
    ],
)
def test_a_causal_mask_before_the_softmax_is_named(shares, count):
    assert found(multiplied_masks, shares) == ["MASK_BEFORE_SOFTMAX"] * count


@pytest.mark.parametrize(
    "masked, count",
    [
        (lambda scores, mask: v1.where(tf.equal(mask, 0), scores, tf.ones_like(scores) * (-(2.0**32) + 1)), 1),
        (lambda scores, mask: v1.where(tf.equal(mask, 0), tf.ones_like(scores) * (-(2.0**32) + 1), scores), 0),
        (lambda scores, mask: v1.where(tf.cast(mask, tf.bool), tf.fill([2, 5, 5], -1e9), scores), 1),
        (lambda scores, mask: v1.where(tf.cast(mask, tf.bool), scores, tf.fill([2, 5, 5], -1e9)), 0),
        (lambda scores, mask: scores + mask * -1e9, 1),
        (lambda scores, mask: scores + (1.0 - mask) * -1e9, 0),
        (lambda scores, mask: scores - 1e9 * (1.0 - mask), 0),
    ],
)
def test_a_causal_mask_that_leaves_later_words_is_named(masked, count):
    def shares(scores, ids):
        return tf.nn.softmax(masked(scores, tf.tile(tf.linalg.band_part(tf.ones([1, 5, 5]), -1, 0), [2, 1, 1])))

    assert found(inverted_masks, shares) == ["MASK_INVERTED"] * count


@pytest.mark.parametrize(
    "moved, count",
    [
        (lambda lower: lower, 1),
        (lambda lower: tf.transpose(lower), 0),  # what is on the diagonal and above it
        (lambda lower: tf.linalg.band_part(tf.ones([6, 6]), -1, 0)[:5, :5], 1),
        (lambda lower: tf.linalg.band_part(tf.ones([6, 6]), -1, 0)[:-1, 1:], 0),  # what is below it
        (lambda lower: lower[::-1, ::-1], 0),
    ],
)
def test_a_triangle_that_is_turned_is_another_one(moved, count):
    def shares(scores, ids):
        return tf.nn.softmax(scores + moved(tf.linalg.band_part(tf.ones([5, 5]), -1, 0)) * -1e9)

    assert found(inverted_masks, shares) == ["MASK_INVERTED"] * count


def test_a_key_beside_the_words_stays_for_the_last_one():
    def shares(scores, ids):
        with_end = tf.concat([scores, scores[:, :, :1]], 2)
        return tf.nn.softmax(with_end + tf.linalg.band_part(tf.ones([5, 6]), -1, 0) * -1e9)[:, :, :5]

    assert found(inverted_masks, shares) == []


@pytest.mark.parametrize("forward, count", [(lambda lower: 1.0 - lower, 0), (lambda lower: lower, 1)])
def test_later_words_of_one_of_two_directions_are_no_fault(forward, count):
    def shares(scores, ids):
        lower = tf.linalg.band_part(tf.ones([5, 5]), -1, 0)
        return tf.nn.softmax(scores + lower * -1e9) + tf.nn.softmax(scores + forward(lower) * -1e9)

    assert found(inverted_masks, shares) == ["MASK_INVERTED"] * count


def test_a_softmax_of_what_such_words_are_taken_by_is_no_other_direction():
    def shares(scores, ids):
        lower = tf.linalg.band_part(tf.ones([5, 5]), -1, 0)
        return tf.nn.softmax(tf.nn.softmax(scores + lower * -1e9) @ scores)

    assert found(inverted_masks, shares) == ["MASK_INVERTED"]
