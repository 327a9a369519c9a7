"""Layers as functions of a `Scope`: plain variables and `tf.nn`, nothing that one of the eras lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf

from workloads import initializers
from workloads.numerics import normalization

if TYPE_CHECKING:
    from workloads.initializers import Initializer
    from workloads.scope import Scope

ZEROS = initializers.Constant(0.0)
ONES = initializers.Constant(1.0)


def _input(scope: Scope, kind: str, x: tf.Tensor) -> tf.Tensor:
    """Returns a layer's input; where taps are recorded a copy of it, whose gradient is this layer's alone."""
    return scope.tap(f"{kind}.input", tf.identity(x)) if scope.tapping else x


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
      bias_shape: `(units,)` unless given; `()` is one scalar bias for all units.
      decay: rate of L2 weight decay on `weights`.

    Returns:
      [batch, units].
    """
    x = _input(scope, "dense", x)
    weight = scope.get("weights", (int(x.shape[-1]), units), weights)
    bias = scope.get("biases", (units,) if bias_shape is None else bias_shape, biases)
    scope.decay(decay, weight)
    return scope.tap("dense.output", tf.matmul(x, weight) + bias)


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
    x = _input(scope, "conv", x)
    weight = scope.get("weights", (size, size, int(x.shape[-1]), filters), weights)
    scope.decay(decay, weight)
    y = tf.nn.conv2d(x, weight, strides=[1, stride, stride, 1], padding="SAME")
    if biases is not None:
        # Not `bias_add`: in a function, oneDNN joins its gradient with the weights', which takes longer than both.
        y = y + scope.get("biases", (filters,), biases)
    return scope.tap("conv.output", y)


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

    The sums are one product with a band matrix. On CPUs that is faster than the op of `tf.nn`, which has no float64
    kernel.

    Args:
      x: [batch, height, width, channels].
      radius, bias, alpha, beta: constants of the formula.

    Returns:
      tensor of x's shape.
    """
    channels = int(x.shape[-1])
    weights = tf.constant(alpha * normalization.band_matrix(channels, radius), x.dtype)
    sums = tf.matmul(tf.reshape(tf.square(x), [-1, channels]), weights)
    return x / normalization.power(bias + tf.reshape(sums, x.shape), beta)


def batch_norm(scope: Scope, x: tf.Tensor, momentum: float = 0.9, epsilon: float = 1e-5) -> tf.Tensor:
    """Normalizes with the batch's own moments over all but the last axis (Ioffe & Szegedy, arXiv:1502.03167).

    When the model is evaluated, with the moving statistics instead.

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
    x = _input(scope, "batch_norm", x)
    channels = int(x.shape[-1])
    gamma = scope.get("gamma", (channels,), ONES)
    beta = scope.get("beta", (channels,), ZEROS)
    moving_mean = scope.get("moving_mean", (channels,), ZEROS, trainable=False)
    moving_variance = scope.get("moving_variance", (channels,), ONES, trainable=False)
    if not scope.training:
        return tf.nn.batch_normalization(x, moving_mean, moving_variance, beta, gamma, epsilon)
    normalized = normalization.batch_normalize(x, gamma, beta, epsilon)
    scope.update("moving_mean", moving_mean - (moving_mean - normalized.mean) * (1.0 - momentum))
    scope.update("moving_variance", moving_variance - (moving_variance - normalized.variance) * (1.0 - momentum))
    return scope.tap("batch_norm.output", normalized.values)


def dropout(scope: Scope, x: tf.Tensor, rate: float) -> tf.Tensor:
    """Zeroes elements at random and scales the rest by 1 / (1 - rate); the same mask on both sides.

    Args:
      scope: place of the noise "dropout".
      x: any tensor of known shape.
      rate: probability of zero; 0 draws nothing, nor is anything dropped when the model is evaluated.

    Returns:
      tensor of x's shape.
    """
    if not rate or not scope.training:
        return x
    x = _input(scope, "dropout", x)
    keep = tf.cast(scope.keep("dropout", x.shape, rate), x.dtype)
    return scope.tap("dropout.output", x * keep / (1.0 - rate))


def lstm_sequence(scope: Scope, x: tf.Tensor, units: int, forget_bias: float = 1.0) -> tf.Tensor:
    """Runs one LSTM layer over time, unrolled, as `BasicLSTMCell` with gates i, j, f, o.

    The inputs' part of the gates, biases included, is one product for all time steps; each adds the product with the
    output before it. Output and cell start at zero, so the first step has neither that product nor a cell to forget.

    Args:
      scope: place of "kernel" and "bias".
      x: [batch, time, features].
      units: features of the outputs.
      forget_bias: added to the forget gate's bias at run time.

    Returns:
      [batch, time, units].
    """
    x = _input(scope, "lstm", x)
    batch, time, features = (int(length) for length in x.shape)
    kernel = scope.get("kernel", (features + units, 4 * units))
    bias = scope.get("bias", (4 * units,), ZEROS)
    input_kernel, output_kernel = tf.split(kernel, [features, units])
    forget = tf.constant(np.repeat([0.0, 0.0, forget_bias, 0.0], units), x.dtype)
    inputs = tf.nn.bias_add(tf.matmul(tf.reshape(x, [-1, features]), input_kernel), bias + forget)
    outputs: list[tf.Tensor] = []
    cell = None
    for gates in tf.unstack(tf.reshape(inputs, [batch, time, 4 * units]), axis=1):
        if outputs:
            gates += tf.matmul(outputs[-1], output_kernel)
        i, j, f, o = tf.split(gates, 4, axis=1)
        written = tf.sigmoid(i) * tf.tanh(j)
        cell = written if cell is None else cell * tf.sigmoid(f) + written
        outputs.append(tf.tanh(cell) * tf.sigmoid(o))
    return scope.tap("lstm.output", tf.stack(outputs, axis=1))


def lstm(scope: Scope, steps: list[tf.Tensor], units: int, forget_bias: float = 1.0) -> list[tf.Tensor]:
    """Runs `lstm_sequence` on a list over time of [batch, features].

    Args:
      scope, units, forget_bias: as for `lstm_sequence`.
      steps: list over time of [batch, features].

    Returns:
      list over time of the outputs, [batch, units].
    """
    outputs: list[tf.Tensor] = tf.unstack(lstm_sequence(scope, tf.stack(steps, axis=1), units, forget_bias), axis=1)
    return outputs


def cross_entropy(logits: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """Returns the mean over the examples of the softmax cross-entropy; `labels` are class numbers [batch]."""
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def classification_metrics(logits: tf.Tensor, labels: tf.Tensor) -> dict[str, tf.Tensor]:
    """Returns the metrics of a classifier, {"accuracy", "cross_entropy"}: a truth value and a number per example.

    Args:
      logits: [batch, classes].
      labels: class numbers [batch].
    """
    predicted = tf.argmax(logits, 1, output_type=labels.dtype)
    entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    return {"accuracy": tf.equal(predicted, labels), "cross_entropy": entropy}
