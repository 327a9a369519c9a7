"""Layers as functions of a `Scope`: plain variables and `tf.nn`, nothing that one of the eras lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow as tf

from workloads import initializers

if TYPE_CHECKING:
    from workloads.initializers import Initializer
    from workloads.scope import Scope

ZEROS = initializers.Constant(0.0)
ONES = initializers.Constant(1.0)


def dense(
    scope: Scope,
    x: tf.Tensor,
    units: int,
    weights: Initializer | None = None,
    biases: Initializer = ZEROS,
    bias_shape: tuple[int, ...] | None = None,
    decay: float = 0.0,
) -> tf.Tensor:
    """Computes `x @ weights + biases`.

    Args:
      scope: place of the variables "weights" and "biases".
      x: [batch, features].
      units: features of the result.
      weights, biases: initializers.
      bias_shape: `(units,)` unless given; `()` is system 2's scalar bias.
      decay: rate of L2 weight decay on `weights`.

    Returns:
      [batch, units].
    """
    weight = scope.get("weights", (int(x.shape[-1]), units), weights)
    bias = scope.get("biases", (units,) if bias_shape is None else bias_shape, biases)
    scope.decay(decay, weight)
    return tf.matmul(x, weight) + bias


def conv(
    scope: Scope,
    x: tf.Tensor,
    filters: int,
    size: int,
    stride: int = 1,
    weights: Initializer | None = None,
    biases: Initializer | None = None,
    decay: float = 0.0,
) -> tf.Tensor:
    """Computes a 2-D convolution, NHWC, SAME padding.

    Args:
      scope: place of the variables "weights" and "biases".
      x: [batch, height, width, channels].
      filters: channels of the result.
      size: of the square window.
      stride: of the window.
      weights: initializer.
      biases: initializer; None for no bias.
      decay: rate of L2 weight decay on `weights`.

    Returns:
      [batch, height / stride, width / stride, filters].
    """
    weight = scope.get("weights", (size, size, int(x.shape[-1]), filters), weights)
    scope.decay(decay, weight)
    y = tf.nn.conv2d(x, weight, strides=[1, stride, stride, 1], padding="SAME")
    return y if biases is None else tf.nn.bias_add(y, scope.get("biases", (filters,), biases))


def max_pool(x: tf.Tensor, size: int, stride: int) -> tf.Tensor:
    """Takes the maximum over square windows, NHWC, SAME padding.

    Args:
      x: [batch, height, width, channels].
      size, stride: of the windows.

    Returns:
      [batch, height / stride, width / stride, channels].
    """
    return tf.nn.max_pool(x, [1, size, size, 1], [1, stride, stride, 1], "SAME")


def local_response_norm(
    x: tf.Tensor, radius: int = 4, bias: float = 1.0, alpha: float = 0.001 / 9.0, beta: float = 0.75
) -> tf.Tensor:
    """Computes `x / (bias + alpha * sum of x**2 over 2 * radius + 1 channels) ** beta` (Krizhevsky et al. 2012).

    TensorFlow's op has no float64 kernel, so that dtype adds up shifted channels instead.

    Args:
      x: [batch, height, width, channels].
      radius, bias, alpha, beta: constants of the formula.

    Returns:
      tensor of x's shape.
    """
    if x.dtype != tf.float64:
        return tf.nn.local_response_normalization(x, radius, bias, alpha, beta)
    channels = int(x.shape[-1])
    padded = tf.pad(tf.square(x), [[0, 0], [0, 0], [0, 0], [radius, radius]])
    window = tf.add_n([padded[..., shift : shift + channels] for shift in range(2 * radius + 1)])
    return x / tf.pow(bias + alpha * window, beta)


def batch_norm(scope: Scope, x: tf.Tensor, momentum: float = 0.9, epsilon: float = 1e-5) -> tf.Tensor:
    """Normalizes with the batch's own moments over all but the last axis (Ioffe & Szegedy, arXiv:1502.03167).

    The moving mean and variance are statistics; the variance is stored with Bessel's correction n / (n - 1),
    as TensorFlow's fused kernel stores it.

    Args:
      scope: place of "gamma", "beta", "moving_mean" and "moving_variance".
      x: [..., channels].
      momentum: part of themselves that the moving statistics keep in a step.
      epsilon: added to the variance.

    Returns:
      tensor of x's shape.
    """
    channels = int(x.shape[-1])
    gamma = scope.get("gamma", (channels,), ONES)
    beta = scope.get("beta", (channels,), ZEROS)
    moving_mean = scope.get("moving_mean", (channels,), ZEROS, trainable=False)
    moving_variance = scope.get("moving_variance", (channels,), ONES, trainable=False)
    axes = list(range(x.shape.rank - 1))
    mean, variance = tf.nn.moments(x, axes)
    count = 1
    for axis in axes:
        count *= int(x.shape[axis])
    unbiased = variance * (count / max(count - 1.0, 1.0))
    scope.update("moving_mean", moving_mean - (moving_mean - mean) * (1.0 - momentum))
    scope.update("moving_variance", moving_variance - (moving_variance - unbiased) * (1.0 - momentum))
    return tf.nn.batch_normalization(x, mean, variance, beta, gamma, epsilon)


def dropout(scope: Scope, x: tf.Tensor, rate: float) -> tf.Tensor:
    """Zeroes elements at random and scales the rest by 1 / (1 - rate); the same mask on both sides.

    Args:
      scope: place of the noise "dropout".
      x: any tensor of known shape.
      rate: probability of zero; 0 draws nothing.

    Returns:
      tensor of x's shape.
    """
    if not rate:
        return x
    keep = tf.cast(scope.keep("dropout", x.shape, rate), x.dtype)
    return x * keep / (1.0 - rate)


def lstm(scope: Scope, steps: list[tf.Tensor], units: int, forget_bias: float = 1.0) -> list[tf.Tensor]:
    """Runs one LSTM layer over time, unrolled, as `BasicLSTMCell` with gates i, j, f, o.

    Args:
      scope: place of "kernel" and "bias".
      steps: list over time of [batch, features].
      units: features of the outputs.
      forget_bias: added to the forget gate at run time.

    Returns:
      list over time of the outputs, [batch, units].
    """
    features = int(steps[0].shape[-1])
    kernel = scope.get("kernel", (features + units, 4 * units))
    bias = scope.get("bias", (4 * units,), ZEROS)
    output = tf.zeros([int(steps[0].shape[0]), units], steps[0].dtype)
    cell = output
    outputs = []
    for x in steps:
        gates = tf.nn.bias_add(tf.matmul(tf.concat([x, output], 1), kernel), bias)
        i, j, f, o = tf.split(gates, 4, axis=1)
        cell = cell * tf.sigmoid(f + forget_bias) + tf.sigmoid(i) * tf.tanh(j)
        output = tf.tanh(cell) * tf.sigmoid(o)
        outputs.append(output)
    return outputs


def cross_entropy(logits: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """Returns the mean over the examples of the softmax cross-entropy; `labels` are class numbers [batch]."""
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
