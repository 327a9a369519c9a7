"""Formula of bilinear resizing of images, and of its gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tensorflow as tf

if TYPE_CHECKING:
    from collections.abc import Sequence


def bilinear(node: Any, inputs: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Returns the output of ResizeBilinear, from the images and the size that they get."""
    images, size = inputs
    shape = tf.shape(images)
    rows, columns = (_weights(node, shape[1 + axis], size[axis], images.dtype) for axis in (0, 1))
    return [_resized(images, rows, columns)]


def bilinear_gradient(node: Any, inputs: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Returns the output of ResizeBilinearGrad, from the output's gradient and the images."""
    gradient, images = inputs
    shape, size = tf.shape(images), tf.shape(gradient)[1:3]
    rows, columns = (_weights(node, shape[1 + axis], size[axis], gradient.dtype) for axis in (0, 1))
    return [_resized(gradient, tf.transpose(rows), tf.transpose(columns))]


def _resized(images: tf.Tensor, rows: tf.Tensor, columns: tf.Tensor) -> tf.Tensor:
    """Returns images [batch, height, width, channels], multiplied from the left along both dimensions."""
    return tf.einsum("pw,bowc->bopc", columns, tf.einsum("oh,bhwc->bowc", rows, images))


def _weights(node: Any, before: tf.Tensor, after: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    """Returns the matrix [after, before] that interpolates along one dimension.

    Args:
      node: the NodeDef.
      before: int32 scalar, size of the images.
      after: int32 scalar, size of the result.
      dtype: of the matrix.
    """
    aligned = node.attr["align_corners"].b
    old, new = tf.cast(before, dtype), tf.cast(after, dtype)
    scale = tf.where((new > 1) & aligned, (old - 1) / tf.maximum(new - 1, 1), old / new)
    places = tf.cast(tf.range(after), dtype)
    half = 0.5 if "half_pixel_centers" in node.attr and node.attr["half_pixel_centers"].b else 0.0
    places = (places + half) * scale - half
    lower = tf.floor(places)
    part = (places - lower)[:, tf.newaxis]
    low = tf.one_hot(tf.maximum(tf.cast(lower, tf.int32), 0), before, dtype=dtype)
    high = tf.one_hot(tf.minimum(tf.cast(tf.math.ceil(places), tf.int32), before - 1), before, dtype=dtype)
    return low * (1 - part) + high * part
