"""Faulty variants of layers: padding, stride, dilation, rectifier, precision of a product, smoothed labels."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from modern.mirrored.step.replica_step import ReplicaStep
from parity.causes.basics import injection
from workloads import layers
from workloads.tracing import trace

if TYPE_CHECKING:
    from modern.mirrored.state.variables import LocalState
    from modern.mirrored.step.step_tensors import Tensors
    from modern.mirrored.step.training_step import PassResult
    from workloads.initializers import Initializer
    from workloads.scope import Scope
    from workloads.workload import Workload

_CONV, _DENSE, _MAX_POOL, _CROSS_ENTROPY = layers.conv, layers.dense, layers.max_pool, layers.cross_entropy


def in_function(module: ModuleType, name: str, function: Callable[..., tf.Tensor]) -> injection.Change:
    """Traces the port with another function in a module.

    Afterwards the function is restored that the module had when this one was called, not the one found before tracing:
    replicas are traced in threads that take turns at each exchange, so that the one found may be another replica's
    replacement.

    Args:
      module: the module, such as `layers`.
      name: of the function in it.
      function: to use in its place.

    Returns:
      the change.
    """
    healthy = getattr(module, name)

    class Step(ReplicaStep):
        def _forward_backward(self, local: LocalState, step: tf.Tensor, replica: int, batch: Tensors) -> PassResult:
            setattr(module, name, function)
            try:
                return super()._forward_backward(local, step, replica, batch)
            finally:
                setattr(module, name, healthy)

    return injection.in_replica_step(Step)


def leaky_relu(x: tf.Tensor) -> tf.Tensor:
    """Returns the rectifier with a slope of 0.01 for negative numbers, PyTorch's default for LeakyReLU."""
    return tf.nn.leaky_relu(x, 0.01)


def conv_padded_alike(
    scope: Scope,
    x: tf.Tensor,
    filters: int,
    size: int,
    stride: int = 1,
    weights: Initializer | None = None,
    biases: Initializer | None = None,
    decay: float = 0.0,
) -> tf.Tensor:
    """Computes `layers.conv` with symmetric padding, as PyTorch's `padding=size // 2` does.

    Args:
      scope, x, filters, size, stride, weights, biases, decay: as for `layers.conv`.

    Returns:
      the convolution; it differs from `layers.conv` only where the stride is not 1.
    """
    if stride == 1:
        return _CONV(scope, x, filters, size, stride, weights, biases, decay)
    weight = scope.get("weights", (size, size, int(x.shape[-1]), filters), weights)
    scope.decay(decay, weight)
    margin = [size // 2, size // 2]
    y = tf.nn.conv2d(x, weight, [1, stride, stride, 1], [[0, 0], margin, margin, [0, 0]])
    return y if biases is None else y + scope.get("biases", (filters,), biases)


def max_pool_padded_alike(x: tf.Tensor, size: int, stride: int) -> tf.Tensor:
    """Computes `layers.max_pool` with symmetric padding, as PyTorch's `padding=size // 2` does.

    Args:
      x, size, stride: as for `layers.max_pool`.

    Returns:
      the maxima.
    """
    margin = [size // 2, size // 2]
    padded = tf.pad(x, [[0, 0], margin, margin, [0, 0]], constant_values=float(x.dtype.min))
    return tf.nn.max_pool(padded, [1, size, size, 1], [1, stride, stride, 1], "VALID")


def dilated_conv(
    scope: Scope,
    x: tf.Tensor,
    filters: int,
    size: int,
    stride: int = 1,
    weights: Initializer | None = None,
    biases: Initializer | None = None,
    decay: float = 0.0,
) -> tf.Tensor:
    """Computes `layers.conv`, dilated in the layers "conv2" where the stride is 1.

    Args:
      scope, x, filters, size, stride, weights, biases, decay: as for `layers.conv`.

    Returns:
      the convolution, of the same shape.
    """
    if stride != 1 or not _prefix(scope).endswith("conv2/"):
        return _CONV(scope, x, filters, size, stride, weights, biases, decay)
    weight = scope.get("weights", (size, size, int(x.shape[-1]), filters), weights)
    scope.decay(decay, weight)
    y = tf.nn.conv2d(x, _with_gaps(weight), [1, 1, 1, 1], "SAME")
    return y if biases is None else y + scope.get("biases", (filters,), biases)


def _with_gaps(weight: tf.Tensor) -> tf.Tensor:
    """Returns a convolution's weights with a zero between any two: no CPU kernel differentiates a dilated one."""
    size, _, before, after = (int(length) for length in weight.shape)
    paddings = [[0, 0], [0, 1], [0, 0], [0, 1], [0, 0], [0, 0]]
    spaced = tf.pad(tf.reshape(weight, [size, 1, size, 1, before, after]), paddings)
    wide: tf.Tensor = tf.reshape(spaced, [2 * size, 2 * size, before, after])[:-1, :-1]
    return wide


def conv_with_later_stride(
    scope: Scope, x: tf.Tensor, filters: int, size: int, stride: int = 1, *rest: Any
) -> tf.Tensor:
    """Computes `layers.conv` with the first residual block's stride in its second convolution.

    Args:
      scope, x, filters, size, stride, rest: as for `layers.conv`.

    Returns:
      the convolution.
    """
    stride = {"stage1_block0/conv1/": 1, "stage1_block0/conv2/": 2}.get(_prefix(scope), stride)
    return _CONV(scope, x, filters, size, stride, *rest)


def conv_with_stopped_shortcut(scope: Scope, x: tf.Tensor, *rest: Any) -> tf.Tensor:
    """Computes `layers.conv`; no gradient passes through the shortcuts.

    Args:
      scope, x, rest: as for `layers.conv`.

    Returns:
      the convolution.
    """
    return _CONV(scope, tf.stop_gradient(x) if _prefix(scope).endswith("shortcut/") else x, *rest)


def dense_in_half_precision(
    scope: Scope,
    x: tf.Tensor,
    units: int,
    weights: Initializer | None = None,
    biases: Initializer = layers.ZEROS,
    bias_shape: tuple[int, ...] | None = None,
    decay: float = 0.0,
) -> tf.Tensor:
    """Computes `layers.dense` with the product in bfloat16.

    Args:
      scope, x, units, weights, biases, bias_shape, decay: as for `layers.dense`.

    Returns:
      [batch, units], in x's dtype.
    """
    weight = scope.get("weights", (int(x.shape[-1]), units), weights)
    bias = scope.get("biases", (units,) if bias_shape is None else bias_shape, biases)
    scope.decay(decay, weight)
    product = tf.matmul(tf.cast(x, tf.bfloat16), tf.cast(weight, tf.bfloat16))
    return tf.cast(product, x.dtype) + bias


def smoothed_cross_entropy(logits: tf.Tensor, labels: tf.Tensor, smoothing: float = 0.1) -> tf.Tensor:
    """Computes the mean cross-entropy of smoothed labels.

    Args:
      logits: [batch, classes].
      labels: class numbers, [batch].
      smoothing: part of each label that is spread over all classes.

    Returns:
      scalar.
    """
    classes = int(logits.shape[-1])
    smooth = (1.0 - smoothing) * tf.one_hot(labels, classes, dtype=logits.dtype) + smoothing / classes
    return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=smooth, logits=logits))


def smoothed_labels(smoothing: float) -> injection.Change:
    """Injects label smoothing: this share of each label is spread over all classes."""
    return in_function(layers, "cross_entropy", functools.partial(smoothed_cross_entropy, smoothing=smoothing))


def _prefix(scope: Any) -> str:
    prefix: str = scope._prefix
    return prefix


LEAKY_RECTIFIER = in_function(tf.nn, "relu", leaky_relu)
SYMMETRIC_CONV = in_function(layers, "conv", conv_padded_alike)
SYMMETRIC_POOL = in_function(layers, "max_pool", max_pool_padded_alike)
DILATED_CONV = in_function(layers, "conv", dilated_conv)
LATER_STRIDE = in_function(layers, "conv", conv_with_later_stride)
STOPPED_SHORTCUT = in_function(layers, "conv", conv_with_stopped_shortcut)
HALF_DENSE = in_function(layers, "dense", dense_in_half_precision)
SMOOTHED_LABELS = in_function(layers, "cross_entropy", smoothed_cross_entropy)


def classifying(workload: Workload) -> Workload | None:
    """Returns the workload without clipping if its labels are class numbers, else None; an `adapt` of faults."""
    return injection.without_clip(workload) if "labels" in workload.inputs() else None


def with_weights(*endings: str) -> Callable[[Workload], Workload | None]:
    """Returns an `adapt` that returns the workload if it has weights with all these endings of names, else None."""

    def adapt(workload: Workload) -> Workload | None:
        names = [spec.name for spec in trace(workload)]
        return workload if all(any(name.endswith(ending) for name in names) for ending in endings) else None

    return adapt
