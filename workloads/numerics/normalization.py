"""Kernels of normalizations: of batches by the fused kernel where every device has it, and the terms of local response.

Both sides normalize by `batch_normalize`, so they run the same kernel. `FusedBatchNormV3` makes the moments and the
normalized values in one op and all gradients in a second one; out of single ops, a step reads and writes the
activations several times more often.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import tensorflow as tf


class Normalized(NamedTuple):
    """A normalized batch and its moments.

    Attributes:
      values: tensor of the batch's shape.
      mean: [channels].
      variance: [channels], with Bessel's correction: the sum of squares over n - 1, or over 1 where n is 1.
    """

    values: tf.Tensor
    mean: tf.Tensor
    variance: tf.Tensor


def bessel_correction(x: tf.Tensor) -> float:
    """Returns n / (n - 1) for the n values of a channel of `x` [..., channels]; 1 where there is one value.

    >>> bessel_correction(tf.zeros([5, 2])), bessel_correction(tf.zeros([1, 2, 3])), bessel_correction(tf.zeros([1, 3]))
    (1.25, 2.0, 1.0)
    """
    count = 1
    for length in x.shape[:-1]:
        count *= int(length)
    return count / max(count - 1.0, 1.0)


def batch_normalize(x: tf.Tensor, scale: tf.Tensor, offset: tf.Tensor, epsilon: float) -> Normalized:
    """Normalizes over all but the last axis.

    Args:
      x: [..., channels], of known shape.
      scale, offset: [channels], of x's dtype.
      epsilon: added to the variance (without Bessel's correction) that is divided by.

    Returns:
      See `Normalized`.
    """
    if x.dtype == tf.float32:
        return _by_kernel(x, scale, offset, epsilon)
    return _by_formulas(x, scale, offset, epsilon)


def _by_kernel(x: tf.Tensor, scale: tf.Tensor, offset: tf.Tensor, epsilon: float) -> Normalized:
    # The raw op: `tf.compat.v1.nn.fused_batch_norm` silently raises epsilon to 1.001e-5.
    fused = tf.raw_ops.FusedBatchNormV3(
        x=x if x.shape.rank == 4 else tf.reshape(x, [-1, 1, 1, int(x.shape[-1])]),
        scale=scale,
        offset=offset,
        mean=tf.constant([], tf.float32),
        variance=tf.constant([], tf.float32),
        epsilon=epsilon,
        is_training=True,
    )
    values = fused.y if x.shape.rank == 4 else tf.reshape(fused.y, x.shape)
    return Normalized(values, fused.batch_mean, fused.batch_variance)


def _by_formulas(x: tf.Tensor, scale: tf.Tensor, offset: tf.Tensor, epsilon: float) -> Normalized:
    """Normalizes in a dtype that has no kernel, such as float64."""
    mean, variance = tf.nn.moments(x, list(range(x.shape.rank - 1)))
    values = tf.nn.batch_normalization(x, mean, variance, offset, scale, epsilon)
    return Normalized(values, mean, variance * bessel_correction(x))


def band_matrix(size: int, radius: int) -> np.ndarray:
    """Returns the matrix with ones up to `radius` places off its diagonal: a product with it sums over neighbours.

    >>> band_matrix(4, 1).tolist()
    [[1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 1.0, 0.0], [0.0, 1.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0]]
    """
    places = np.arange(size)
    return np.asarray(np.abs(places[:, np.newaxis] - places) <= radius, np.float64)


def power(x: tf.Tensor, exponent: float) -> tf.Tensor:
    """Returns `x ** exponent` for positive x; 3/4, the usual one, by roots, which take a fraction of `pow`'s time."""
    if exponent != 0.75:
        return tf.pow(x, exponent)
    root = tf.sqrt(x)
    return root * tf.sqrt(root)
