"""Layers as functions of a `Scope`: plain variables and `tf.nn`, nothing that one of the eras lacks."""

from __future__ import annotations

import tensorflow as tf

from workloads import initializers

ZEROS = initializers.Constant(0.0)
ONES = initializers.Constant(1.0)


def dense(scope, x, units, weights=None, biases=ZEROS, bias_shape=None, decay=0.0):
    """`x @ weights + biases`.

    Args:
      x: [batch, features].
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


def conv(scope, x, filters, size, stride=1, weights=None, biases=None, decay=0.0):
    """2-D convolution, NHWC, SAME padding; a bias only if `biases` is given.

    Returns:
      [batch, height / stride, width / stride, filters].
    """
    weight = scope.get("weights", (size, size, int(x.shape[-1]), filters), weights)
    scope.decay(decay, weight)
    y = tf.nn.conv2d(x, weight, strides=[1, stride, stride, 1], padding="SAME")
    return y if biases is None else tf.nn.bias_add(y, scope.get("biases", (filters,), biases))


def max_pool(x, size, stride):
    """Max pooling over `size` x `size` windows, NHWC, SAME padding."""
    return tf.nn.max_pool(x, [1, size, size, 1], [1, stride, stride, 1], "SAME")


def local_response_norm(x, radius=4, bias=1.0, alpha=0.001 / 9.0, beta=0.75):
    """`x / (bias + alpha * sum of x**2 over 2 * radius + 1 channels) ** beta` (Krizhevsky et al. 2012).

    TensorFlow's op has no float64 kernel, so that dtype adds up shifted channels instead.
    """
    if x.dtype != tf.float64:
        return tf.nn.local_response_normalization(x, radius, bias, alpha, beta)
    channels = int(x.shape[-1])
    padded = tf.pad(tf.square(x), [[0, 0], [0, 0], [0, 0], [radius, radius]])
    window = tf.add_n([padded[..., shift : shift + channels] for shift in range(2 * radius + 1)])
    return x / tf.pow(bias + alpha * window, beta)


def batch_norm(scope, x, momentum=0.9, epsilon=1e-5):
    """Normalizes with the batch's own moments over all but the last axis (Ioffe & Szegedy, arXiv:1502.03167).

    The moving mean and variance are statistics; the variance is stored with Bessel's correction n / (n - 1),
    as TensorFlow's fused kernel stores it.
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


def dropout(scope, x, rate):
    """Zeroes elements with probability `rate`, scales the rest by 1 / (1 - rate); the same mask on both sides."""
    if not rate:
        return x
    keep = tf.cast(scope.keep("dropout", x.shape, rate), x.dtype)
    return x * keep / (1.0 - rate)


def lstm(scope, steps, units, forget_bias=1.0):
    """One LSTM layer over time, unrolled (`BasicLSTMCell`: gates i, j, f, o; `forget_bias` added at run time).

    Args:
      steps: list over time of [batch, features].

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


def cross_entropy(logits, labels):
    """Mean over the examples of the softmax cross-entropy; `labels` are class numbers [batch]."""
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
