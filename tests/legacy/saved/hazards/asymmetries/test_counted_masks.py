"""Sums of errors divided by the count of their own mask, and of another."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.asymmetries.counted_masks import counts_of_other_masks
from tests.legacy.saved.hazards.minimized import fed, found, variable


def mask(labels):
    return tf.cast(labels > 0, tf.float32)


@pytest.mark.parametrize(
    "weigh, count_of, count",
    [
        (lambda error, one, other: error, lambda one, other: mask(one), 1),
        (lambda error, one, other: error * mask(other), lambda one, other: mask(one), 1),
        (lambda error, one, other: error * mask(one), lambda one, other: mask(one), 0),
        (lambda error, one, other: error * mask(one) * mask(other), lambda one, other: mask(one), 0),
        (lambda error, one, other: error * tf.cast(one, tf.float32), lambda one, other: mask(one), 0),
        (lambda error, one, other: error, lambda one, other: tf.ones([8]), 0),
    ],
)
def test_a_count_of_another_mask_is_named(weigh, count_of, count):
    def total():
        one, other = (fed(name, 8, dtype=tf.int32) for name in ("one", "other"))
        error = tf.reduce_sum(tf.abs(fed("x", 8, 4) @ variable("w", 4, 3) - fed("boxes", 8, 3)), 1)
        return tf.reduce_sum(weigh(error, one, other)) / tf.maximum(tf.reduce_sum(count_of(one, other)), 1.0)

    assert found(counts_of_other_masks, total) == ["COUNT_OF_ANOTHER_MASK"] * count


def test_a_map_of_errors_by_the_number_of_its_own_objects_is_not():
    def total():
        heat = fed("heat", 8, 3)
        error = tf.reduce_sum(tf.square(fed("x", 8, 4) @ variable("w", 4, 3) - heat))
        return error / tf.maximum(tf.reduce_sum(tf.cast(tf.equal(heat, 1.0), tf.float32)), 1.0)

    assert found(counts_of_other_masks, total) == []


@pytest.mark.parametrize(
    "boxes, count",
    [
        (lambda errors, positive: tf.reduce_sum(errors * tf.cast(positive, tf.float32)), 0),
        (lambda errors, positive: tf.reduce_sum(tf.boolean_mask(errors, positive)), 0),
        (lambda errors, positive: tf.reduce_sum(errors), 1),
    ],
)
def test_errors_of_all_anchors_by_the_number_of_those_whose_boxes_count_are_not(boxes, count):
    """As of a detector that divides both of its losses by the number of objects."""

    def total():
        positive = tf.equal(fed("states", 8, dtype=tf.int32), 1)
        number = tf.maximum(tf.reduce_sum(tf.cast(positive, tf.float32)), 1.0)
        x = fed("x", 8, 4)
        classes = tf.reduce_sum(tf.square(tf.sigmoid(x @ variable("w", 4, 3)) - fed("classes", 8, 3)))
        errors = tf.reduce_sum(tf.abs(x @ variable("v", 4, 3) - fed("boxes", 8, 3)), 1)
        return classes / number + boxes(errors, positive) / 8.0

    assert found(counts_of_other_masks, total) == ["COUNT_OF_ANOTHER_MASK"] * count
