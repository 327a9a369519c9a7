"""Decoders of images that join an enlarged image with itself, beside skip connections."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.models.joins.joined_with_itself import joined_with_themselves
from tests.legacy.saved.hazards.minimized import fed, found, variable


def enlarged(x):
    kernel = variable("up", 2, 2, 4, 4)
    by_layer = tf.nn.conv2d_transpose(x, kernel, [2, 8, 8, 4], 2)
    return tf.nn.relu(tf.nn.bias_add(by_layer, variable("bias", 4)))


@pytest.mark.parametrize(
    "larger, joined, count",
    [
        (enlarged, lambda up, skip: tf.concat([up, up], 3), 1),
        (lambda x: tf.image.resize(x, [8, 8]), lambda up, skip: tf.concat([up, tf.identity(up)], -1), 1),
        (enlarged, lambda up, skip: tf.concat([up, skip], 3), 0),
        (enlarged, lambda up, skip: tf.concat([skip, skip], 3), 0),  # of no meaning that the graph tells
        (enlarged, lambda up, skip: tf.concat([up, -up], 3), 0),  # both halves of a rectifier
    ],
)
def test_an_enlarged_image_that_is_joined_with_itself_is_named(larger, joined, count):
    def total():
        x = fed("x", 2, 8, 8, 3)
        skip = tf.nn.relu(tf.nn.conv2d(x, variable("first", 3, 3, 3, 4), 1, "SAME"))
        small = tf.nn.relu(tf.nn.conv2d(skip, variable("second", 3, 3, 4, 4), 2, "SAME"))
        both = joined(larger(small), skip)
        return tf.reduce_mean(tf.square(tf.nn.conv2d(both, variable("last", 3, 3, 8, 1), 1, "SAME")))

    assert found(joined_with_themselves, total) == ["JOINED_WITH_ITSELF"] * count


def test_one_that_no_convolution_takes_is_not():
    def total():
        up = enlarged(fed("x", 2, 4, 4, 4))
        return tf.reduce_mean(tf.square(tf.concat([up, up], 3)))

    assert found(joined_with_themselves, total) == []


@pytest.mark.parametrize("channels, count", [(1, 0), (2, 1)])
def test_one_channel_may_be_repeated_for_a_layer_of_colours(channels, count):
    def total():
        small = tf.nn.conv2d(fed("x", 2, 4, 4, 3), variable("first", 3, 3, 3, channels), 1, "SAME")
        grey = tf.image.resize(small, [8, 8])
        colours = tf.concat([grey, grey, grey], 3)
        return tf.reduce_mean(tf.square(tf.nn.conv2d(colours, variable("last", 3, 3, 3 * channels, 1), 1, "SAME")))

    assert found(joined_with_themselves, total) == ["JOINED_WITH_ITSELF"] * count


@pytest.mark.parametrize("steps, count", [(1, 1), (2, 0)])
def test_a_first_estimate_may_be_the_enlarged_image(steps, count):
    def total():
        estimate = enlarged = tf.image.resize(fed("x", 2, 4, 4, 3), [8, 8])
        kernel = variable("refine", 3, 3, 6, 3)
        for _ in range(steps):
            estimate = tf.nn.conv2d(tf.concat([enlarged, estimate], 3), kernel, 1, "SAME")
        return tf.reduce_mean(tf.square(estimate))

    assert found(joined_with_themselves, total) == ["JOINED_WITH_ITSELF"] * count
