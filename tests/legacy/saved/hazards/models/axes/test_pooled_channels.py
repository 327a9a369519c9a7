"""Global pooling over pixels, and over channels and one of their dimensions."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.models.axes.pooled_channels import pooled_over_channels
from tests.legacy.saved.hazards import minimized

v1 = tf.compat.v1


def pooled(pool, rows, head=None):
    def loss():
        images = tf.nn.conv2d(minimized.fed("x", 4, 5, 6, 2), minimized.variable("kernel", 3, 3, 2, 7), 1, "SAME")
        features = pool(tf.nn.relu(images))
        logits = features @ minimized.variable("w", rows, 3) if head is None else head(images, features)
        return tf.reduce_mean(tf.square(logits))

    return loss


@pytest.mark.parametrize(
    "pool, rows, count",
    [
        (lambda x: tf.reduce_mean(x, [2, 3]), 5, 1),
        (lambda x: tf.reduce_max(x, [-1, 1]), 6, 1),
        (lambda x: tf.reshape(tf.reduce_mean(x, [2, 3], keepdims=True), [-1, 5]), 5, 1),
        (lambda x: tf.reduce_mean(x, [1, 2]), 7, 0),
        (lambda x: tf.reshape(tf.reduce_mean(x, [3]), [-1, 30]), 30, 0),
    ],
)
def test_pooling_along_the_channels_is_named(pool, rows, count):
    assert minimized.found_by_analysis(pooled_over_channels, pooled(pool, rows)) == ["POOLED_OVER_CHANNELS"] * count


@pytest.mark.parametrize("axis, rows, count", [(2, 6, 1), (1, 5, 0)])
def test_a_maximum_over_the_filters_of_a_convolution_along_times_is_named(axis, rows, count):
    def loss():
        hidden = tf.nn.conv1d(minimized.fed("x", 4, 6, 2), minimized.variable("kernel", 3, 2, 5), 1, "SAME")
        return tf.reduce_mean(tf.square(tf.reduce_max(tf.nn.relu(hidden), axis) @ minimized.variable("w", rows, 3)))

    assert minimized.found_by_analysis(pooled_over_channels, loss) == ["POOLED_OVER_CHANNELS"] * count


def test_a_mean_that_weights_an_image_is_no_pooling_for_a_layer():
    def head(images, features):
        return images * tf.sigmoid(features)

    loss = pooled(lambda x: tf.reduce_mean(x, [2, 3], keepdims=True), 5, head)
    assert minimized.found_by_analysis(pooled_over_channels, loss) == []


def test_weights_of_rows_that_a_layer_computes_are_no_pooling_for_a_head():
    def head(images, features):
        rows = tf.sigmoid(features @ minimized.variable("w", 5, 5))
        weighted = tf.reduce_mean(images * tf.reshape(rows, [4, 5, 1, 1]), [1, 2])
        return weighted @ minimized.variable("v", 7, 3)

    loss = pooled(lambda x: tf.reduce_mean(x, [2, 3]), 5, head)
    assert minimized.found_by_analysis(pooled_over_channels, loss) == []


@pytest.mark.parametrize("matches, count", [(True, 0), (False, 1)])
def test_the_best_matches_of_words_are_over_places_and_filters(matches, count):
    def loss():
        rows = minimized.fed("x", 4, 5, 3)
        table = (
            tf.matmul(rows, minimized.fed("y", 4, 6, 3), transpose_b=True) if matches else minimized.fed("z", 4, 5, 6)
        )
        hidden = tf.nn.conv2d(table[..., None], minimized.variable("kernel", 3, 3, 1, 7), 1, "SAME")
        return tf.reduce_mean(tf.square(tf.reduce_max(hidden, [2, 3]) @ minimized.variable("w", 5, 1)))

    assert minimized.found_by_analysis(pooled_over_channels, loss) == ["POOLED_OVER_CHANNELS"] * count
