"""Losses of an overlap of boxes, or of its logarithm, with either sign."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.goals.overlaps_of_boxes import minimized_overlaps_of_boxes
from tests.legacy.saved.hazards.minimized import fed, found, variable


def boxes(loss, given=True):
    """A program of `loss(overlap, mask)` of predicted distances and given ones, or other predicted ones."""

    def total():
        x = fed("x", 8, 4)
        predicted, other = tf.exp(x @ variable("w", 4, 2)), tf.exp(x @ variable("u", 4, 2))
        width, height = tf.unstack(predicted, axis=1)
        right, top = tf.unstack(fed("truth", 8, 2) if given else other, axis=1)
        shared = tf.minimum(width, right) * tf.minimum(height, top)
        overlap = (shared + 1.0) / (width * height + right * top - shared + 1.0)
        return loss(overlap, fed("mask", 8))

    return found(minimized_overlaps_of_boxes, total)


@pytest.mark.parametrize(
    "loss, count",
    [
        (lambda overlap, mask: tf.reduce_mean(overlap), 1),
        (lambda overlap, mask: tf.reduce_mean(tf.math.log(overlap)), 1),
        (lambda overlap, mask: tf.reduce_sum(tf.math.log(overlap) * mask) / (tf.reduce_sum(mask) + 1e-6), 1),
        (lambda overlap, mask: 1 - tf.reduce_mean(overlap), 0),
        (lambda overlap, mask: tf.reduce_mean(-tf.math.log(overlap)), 0),
        (lambda overlap, mask: tf.reduce_sum(-tf.math.log(overlap) * mask) / (tf.reduce_sum(mask) + 1e-6), 0),
    ],
)
def test_an_overlap_that_a_loss_grows_with_is_named(loss, count):
    assert boxes(loss) == ["OVERLAP_MINIMIZED"] * count


def test_predicted_boxes_that_are_kept_apart_are_not():
    assert boxes(lambda overlap, mask: tf.reduce_mean(overlap), given=False) == []
