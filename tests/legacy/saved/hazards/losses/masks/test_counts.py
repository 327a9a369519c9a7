"""Errors divided by the count of a mask that leaves them out, or by weights that do not multiply them."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.losses.masks.counts import counts_of_the_opposite, sums_of_unused_weights
from tests.legacy.saved.hazards.minimized import fed, found, variable

v1 = tf.compat.v1


def errors():
    """The squared errors of 8 rows of 5 positions."""
    return tf.square(tf.tensordot(fed("x", 8, 5, 4), variable("w", 4, 3), 1) - fed("y", 8, 5, 3))[..., 0]


def number(values):
    return tf.cast(values, tf.float32)


@pytest.mark.parametrize(
    "keep, count",
    [
        (lambda mask, error: tf.where(mask, tf.zeros_like(error), error), 1),
        (lambda mask, error: tf.where(mask, error, tf.zeros_like(error)), 0),
        (lambda mask, error: tf.where(tf.logical_not(mask), error, tf.zeros_like(error)), 1),
        (lambda mask, error: tf.where(tf.logical_not(mask), tf.zeros_like(error), error), 0),
        (lambda mask, error: error * (1.0 - number(mask)), 1),
        (lambda mask, error: error * number(mask), 0),
        (lambda mask, error: tf.where(mask, 0.1 * error, error), 0),  # a weight
    ],
)
def test_a_count_of_the_positions_that_are_left_out_is_named(keep, count):
    def total():
        mask = tf.not_equal(fed("words", 8, 5, dtype=tf.int32), 0)
        return tf.reduce_sum(keep(mask, errors())) / (tf.reduce_sum(number(mask)) + 1e-6)

    assert found(counts_of_the_opposite, total) == ["COUNT_OF_ANOTHER_MASK"] * count


def test_errors_of_the_background_by_the_number_of_objects_are_not():
    """As of a detector, whose objects are trained, too."""

    def total():
        mask = tf.not_equal(fed("classes", 8, 5, dtype=tf.int32), 0)
        objects = tf.reduce_sum(number(mask)) + 1e-6
        error = errors()
        background = tf.reduce_sum(tf.where(mask, tf.zeros_like(error), error)) / objects
        return background + tf.reduce_sum(number(mask) * tf.sqrt(error)) / objects

    assert found(counts_of_the_opposite, total) == []


@pytest.mark.parametrize(
    "shape, name, weigh, count",
    [
        ((8, 5), "values", lambda error, fed_numbers: error, 1),
        ((8, 5), "values", lambda error, fed_numbers: error * fed_numbers, 0),
        ((8, 5), "values", lambda error, fed_numbers: error * number(fed("words", 8, 5, dtype=tf.int32) > 0), 0),
        ((8, 5), "values", lambda error, fed_numbers: error + 0.1 * tf.square(fed_numbers), 0),
        ((8,), "weights", lambda error, fed_numbers: tf.reduce_sum(error, 1), 1),
        ((8,), "weights", lambda error, fed_numbers: tf.reduce_sum(error, 1) * fed_numbers, 0),
        ((8,), "lengths", lambda error, fed_numbers: tf.reduce_sum(error, 1), 0),
        ((), "weights", lambda error, fed_numbers: error, 0),
        ((8, 5), "test_mask", lambda error, fed_numbers: error * fed("train_mask", 8, 5), 1),
        ((8, 5), "objects", lambda error, fed_numbers: error * fed("train_mask", 8, 5), 0),  # counts on purpose
        ((8, 5), "test_mask", lambda error, fed_numbers: error * fed("train_mask", 8, 5) * fed_numbers, 0),
    ],
)
def test_weights_that_are_only_added_up_are_named(shape, name, weigh, count):
    def total():
        fed_numbers = fed(name, *shape)
        return tf.reduce_sum(weigh(errors(), fed_numbers)) / (tf.reduce_sum(fed_numbers) + 1e-5)

    assert found(sums_of_unused_weights, total) == ["COUNT_OF_ANOTHER_MASK"] * count


@pytest.mark.parametrize("inverted, count", [(True, 1), (False, 0)])
def test_a_count_in_all_towers_is_one_of_each_towers_positions(inverted, count):
    """Labels of ignored positions are set to 0, which says nothing of the errors."""

    def total():
        words = [fed(f"words_{tower}", 8, 5, dtype=tf.int32) for tower in range(2)]
        masks = [number(tf.not_equal(one, 255)) for one in words]
        labels = tf.where(tf.equal(words[0], 255), tf.zeros_like(words[0]), words[0])
        logits = tf.tensordot(fed("x", 8, 5, 4), variable("w", 4, 3), 1)
        losses = v1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        kept = losses * (1.0 - masks[0] if inverted else masks[0])
        return tf.reduce_sum(kept) / tf.maximum(tf.add_n([tf.reduce_sum(mask) for mask in masks]), 1.0)

    assert found(counts_of_the_opposite, total) == ["COUNT_OF_ANOTHER_MASK"] * count
