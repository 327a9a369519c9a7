"""Masked convolutions of the first layer, with and without the center."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.hazards.lengths.pixels import pixels_read
from tests.legacy.saved.hazards.minimized import fed, found, variable


def first_layer(center, scaled=False, shifted=False, masked=True):
    """A PixelCNN of one layer, whose mask has `center` at the center."""

    def loss():
        image = fed("image", 2, 8, 8, 1)
        mask = np.ones([3, 3, 1, 1], np.float32)
        mask[1, 1], mask[1, 2:], mask[2:] = center, 0, 0
        kernel = variable("kernel", 3, 3, 1, 1)
        read = (image - 0.5) * 2.0 if scaled else image
        read = tf.pad(read, [[0, 0], [1, 0], [0, 0], [0, 0]])[:, :-1] if shifted else read
        logits = tf.nn.conv2d(read, kernel * mask if masked else kernel, [1] * 4, "SAME")
        return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=image, logits=logits))

    return loss


@pytest.mark.parametrize(
    "loss, count",
    [
        (first_layer(1), 1),
        (first_layer(1, scaled=True), 1),
        (first_layer(0), 0),
        (first_layer(1, shifted=True), 0),
        (first_layer(1, masked=False), 0),  # an autoencoder
    ],
)
def test_a_first_layer_that_reads_its_own_pixel_is_named(loss, count):
    assert found(pixels_read, loss) == ["TARGETS_ARE_INPUTS"] * count
