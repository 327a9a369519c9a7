"""Formulas of pooling in three dimensions with its gradients, and of products of sparse matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, List

import tensorflow as tf

if TYPE_CHECKING:
    from collections.abc import Sequence

v1 = tf.compat.v1

#: Permutations that bring the channels of [batch, depth, height, width, channels] to the second place, and back.
_TO_SECOND, _TO_LAST = [0, 4, 1, 2, 3], [0, 2, 3, 4, 1]


def matrix_product(node: Any, inputs: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Returns the output of SparseMatMul."""
    a, b = inputs
    return [tf.matmul(a, b, transpose_a=node.attr["transpose_a"].b, transpose_b=node.attr["transpose_b"].b)]


def average_3d(node: Any, inputs: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Returns the output of AvgPool3D."""
    return [_average(node, inputs[0])]


def average_3d_gradient(node: Any, inputs: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Returns the output of AvgPool3DGrad, from the input's shape and the output's gradient."""
    x = tf.zeros(inputs[0], inputs[1].dtype)  # the gradient does not depend on its values
    return list(v1.gradients(_average(node, x), x, inputs[1]))


def largest_3d(node: Any, inputs: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Returns the output of MaxPool3D."""
    return [_largest(node, inputs[0])]


def largest_3d_gradient(node: Any, inputs: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Returns the output of MaxPool3DGrad, from the input, the output and the output's gradient."""
    x, _, dy = inputs
    return list(v1.gradients(_largest(node, x), x, dy))


def _average(node: Any, x: tf.Tensor) -> tf.Tensor:
    """Returns a convolution of each channel with ones, over the number of values that each window has."""
    x = _channels_last(node, x)
    shape = tf.shape(x)
    alone = tf.reshape(tf.transpose(x, _TO_SECOND), tf.concat([[-1], shape[1:4], [1]], 0))
    window = tf.ones(_sizes(node, "ksize") + [1, 1], x.dtype)
    strides = [1] + _sizes(node, "strides") + [1]
    sums, counts = (tf.nn.conv3d(each, window, strides, _padding(node)) for each in (alone, tf.ones_like(alone)))
    means = sums / counts
    means = tf.reshape(means, tf.concat([[shape[0], shape[4]], tf.shape(means)[1:4]], 0))
    return means if _is_channels_first(node) else tf.transpose(means, _TO_LAST)


def _largest(node: Any, x: tf.Tensor) -> tf.Tensor:
    """Returns the largest value of each window: of each plane's part of it, and then of the planes."""
    x = _channels_last(node, x)
    depth, height, width = _sizes(node, "ksize")
    steps = _sizes(node, "strides")
    shape = tf.shape(x)
    planes = tf.reshape(x, tf.concat([[-1], shape[2:]], 0))
    planes = tf.nn.max_pool2d(planes, [height, width], steps[1:], _padding(node))
    inner = tf.shape(planes)
    lines = tf.reshape(planes, tf.stack([shape[0], shape[1], inner[1] * inner[2], inner[3]]))
    lines = tf.nn.max_pool2d(lines, [depth, 1], [steps[0], 1], _padding(node))
    result = tf.reshape(lines, tf.stack([shape[0], tf.shape(lines)[1], inner[1], inner[2], inner[3]]))
    return tf.transpose(result, _TO_SECOND) if _is_channels_first(node) else result


def _is_channels_first(node: Any) -> bool:
    return node.attr["data_format"].s == b"NCDHW"


def _channels_last(node: Any, x: tf.Tensor) -> tf.Tensor:
    return tf.transpose(x, _TO_LAST) if _is_channels_first(node) else x


def _sizes(node: Any, attribute: str) -> List[int]:
    """Returns the depth, height and width that an attribute holds."""
    sizes = list(node.attr[attribute].list.i)
    return sizes[2:5] if _is_channels_first(node) else sizes[1:4]


def _padding(node: Any) -> str:
    text: str = node.attr["padding"].s.decode("utf-8")
    return text
