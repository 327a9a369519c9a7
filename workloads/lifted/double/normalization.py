"""Formulas of batch normalization and local response normalization, and of their gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, List, NamedTuple

import tensorflow as tf

if TYPE_CHECKING:
    from collections.abc import Sequence


class _Layout(NamedTuple):
    """Places of the channels in a tensor.

    Attributes:
      axes: all dimensions but the channels'.
      shape: of one value per channel, such that it can be multiplied with the tensor.
    """

    axes: List[int]
    shape: List[int]


def _layout(node: Any) -> _Layout:
    """Returns the layout that the attribute `data_format` of a NodeDef describes."""
    text = node.attr["data_format"].s.decode("utf-8")
    axes = [axis for axis, letter in enumerate(text) if letter != "C"]
    return _Layout(axes, [-1 if letter == "C" else 1 for letter in text])


def batch_norm(node: Any, inputs: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Returns the outputs of FusedBatchNorm, V2 and V3.

    Args:
      node: the NodeDef.
      inputs: x, scale, offset, mean and variance; the latter two are used outside of training, or averaged.

    Returns:
      y, the mean and (unbiased) variance to keep, and the mean and variance for the gradient; V3 also has an output
      that only graphics cards use.
    """
    x, scale, offset, kept_mean, kept_variance = inputs
    axes, shape = _layout(node)
    mean, variance = kept_mean, kept_variance
    if node.attr["is_training"].b:
        mean = tf.reduce_mean(x, axes)
        variance = tf.reduce_mean(tf.square(x - tf.reshape(mean, shape)), axes)
        count = tf.cast(tf.size(x) / tf.size(mean), x.dtype)
        unbiased = variance * count / tf.maximum(count - 1, 1)
        factor = node.attr["exponential_avg_factor"].f if "exponential_avg_factor" in node.attr else 1.0
        if factor == 1.0:
            kept_mean, kept_variance = mean, unbiased
        else:
            kept_mean = (1 - factor) * kept_mean + factor * mean
            kept_variance = (1 - factor) * kept_variance + factor * unbiased
    inverse = tf.math.rsqrt(variance + node.attr["epsilon"].f)
    y = (x - tf.reshape(mean, shape)) * tf.reshape(inverse * scale, shape) + tf.reshape(offset, shape)
    results = [y, kept_mean, kept_variance, mean, variance]
    return results + [tf.zeros([0], x.dtype)] if node.op.endswith("V3") else results


def batch_norm_gradient(node: Any, inputs: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Returns the outputs of FusedBatchNormGrad, V2 and V3.

    Args:
      node: the NodeDef.
      inputs: the gradient of y, x, scale, and mean and variance from `batch_norm`.

    Returns:
      The gradients of x, scale and offset, and two empty ones.
    """
    dy, x, scale, mean, variance = inputs[:5]
    axes, shape = _layout(node)
    inverse = tf.math.rsqrt(variance + node.attr["epsilon"].f)
    normalized = (x - tf.reshape(mean, shape)) * tf.reshape(inverse, shape)
    d_scale, d_offset = tf.reduce_sum(dy * normalized, axes), tf.reduce_sum(dy, axes)
    d_normalized = dy
    if node.attr["is_training"].b:
        count = tf.cast(tf.size(x) / tf.size(mean), x.dtype)
        d_normalized -= tf.reshape(d_offset / count, shape) + normalized * tf.reshape(d_scale / count, shape)
    empty = tf.zeros([0], x.dtype)
    return [d_normalized * tf.reshape(scale * inverse, shape), d_scale, d_offset, empty, empty]


def local_response(node: Any, inputs: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Returns the output of LRN: each value over a power of the sum of squares in its neighbourhood of channels."""
    (x,) = inputs
    return [x * tf.pow(_neighbourhood(node, x), -node.attr["beta"].f)]


def local_response_gradient(node: Any, inputs: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Returns the gradient of LRN's input, from that of its output, its input and its output."""
    dy, x, y = inputs
    alpha, beta = node.attr["alpha"].f, node.attr["beta"].f
    norm = _neighbourhood(node, x)
    return [dy * tf.pow(norm, -beta) - 2 * alpha * beta * x * _window_sum(node, dy * y / norm)]


def _neighbourhood(node: Any, x: tf.Tensor) -> tf.Tensor:
    """Returns what LRN takes to the power of beta."""
    return node.attr["bias"].f + node.attr["alpha"].f * _window_sum(node, tf.square(x))


def _window_sum(node: Any, x: tf.Tensor) -> tf.Tensor:
    """Returns, for each channel, the sum over the channels within `depth_radius` of it."""
    depth = tf.shape(x)[-1]
    places = tf.range(depth)
    near = tf.abs(places[:, tf.newaxis] - places[tf.newaxis]) <= tf.cast(node.attr["depth_radius"].i, tf.int32)
    sums = tf.matmul(tf.reshape(x, tf.stack([-1, depth])), tf.cast(near, x.dtype))
    return tf.reshape(sums, tf.shape(x))
