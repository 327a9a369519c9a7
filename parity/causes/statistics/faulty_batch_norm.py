"""Faulty variants of batch normalization: another rule for the moving statistics, other moments, another epsilon."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import tensorflow as tf

from modern.mirrored.step.replica_step import ReplicaStep
from parity.causes.basics import injection
from workloads import layers
from workloads.numerics import normalization
from workloads.numerics.normalization import Normalized

if TYPE_CHECKING:
    from modern.mirrored.state.variables import LocalState
    from modern.mirrored.step.step_tensors import Tensors
    from modern.mirrored.step.training_step import PassResult
    from workloads.scope import Scope

#: `layers.batch_norm`, or a function to use in its place.
BatchNorm = Callable[..., tf.Tensor]

#: `normalization.batch_normalize`, or a function to use in its place.
Normalize = Callable[[tf.Tensor, tf.Tensor, tf.Tensor, float], Normalized]

#: (mean, variance without Bessel's correction) of a batch, [channels] each.
Moments = tuple[tf.Tensor, tf.Tensor]

_BATCH_NORM = layers.batch_norm


class MovingRule(NamedTuple):
    """The rule by which a batch's moments enter the moving statistics.

    Attributes:
      share: part of the moments that is taken in, 1 - momentum.
      correction: factor of the variance before it is taken in.
    """

    share: float
    correction: float


#: Function from a momentum, and the number of values behind each moment, to a `MovingRule`.
MakeRule = Callable[[float, float], MovingRule]


def biased(momentum: float, count: float) -> MovingRule:
    """Returns the rule of a library that stores the variance without Bessel's correction."""
    return MovingRule(1.0 - momentum, 1.0)


def unbiased(momentum: float, count: float) -> MovingRule:
    """Returns the rule of `layers.batch_norm`."""
    return MovingRule(1.0 - momentum, count / max(count - 1.0, 1.0))


def tenth_of_the_share(momentum: float, count: float) -> MovingRule:
    """Returns the rule of a library whose default momentum is 0.999 where legacy's is 0.99."""
    return MovingRule((1.0 - momentum) / 10, count / (count - 1.0))


def _local_moments(x: tf.Tensor, axes: Sequence[int]) -> Moments:
    mean, variance = tf.nn.moments(x, axes)
    return mean, variance


def global_moments(x: tf.Tensor, axes: Sequence[int]) -> Moments:
    """Returns the moments over all replicas' batches of `x`."""
    context = tf.distribute.get_replica_context()
    if context is None or context.num_replicas_in_sync == 1:
        return _local_moments(x, axes)
    mean = context.all_reduce(tf.distribute.ReduceOp.MEAN, tf.reduce_mean(x, axes))
    return mean, context.all_reduce(tf.distribute.ReduceOp.MEAN, tf.reduce_mean(tf.square(x - mean), axes))


def normalize_globally(x: tf.Tensor, scale: tf.Tensor, offset: tf.Tensor, epsilon: float) -> Normalized:
    """Normalizes as `normalization.batch_normalize`, with the moments of all replicas' batches.

    Args:
      x, scale, offset, epsilon: as for `normalization.batch_normalize`.

    Returns:
      the normalized values and the moments; Bessel's correction is that of one replica's batch.
    """
    mean, variance = global_moments(x, list(range(x.shape.rank - 1)))
    values = tf.nn.batch_normalization(x, mean, variance, offset, scale, epsilon)
    return Normalized(values, mean, variance * normalization.bessel_correction(x))


def make_batch_norm(make_rule: MakeRule, normalize: Normalize = normalization.batch_normalize) -> BatchNorm:
    """Returns a batch normalization that differs from `layers.batch_norm` in its moving statistics or its moments.

    Args:
      make_rule: gives the rule of the moving statistics.
      normalize: normalizes a batch.
    """

    def batch_norm(scope: Scope, x: tf.Tensor, momentum: float = 0.9, epsilon: float = 1e-5) -> tf.Tensor:
        channels = int(x.shape[-1])
        gamma, beta = scope.get("gamma", (channels,), layers.ONES), scope.get("beta", (channels,), layers.ZEROS)
        means = scope.get("moving_mean", (channels,), layers.ZEROS, trainable=False)
        variances = scope.get("moving_variance", (channels,), layers.ONES, trainable=False)
        normalized = normalize(x, gamma, beta, epsilon)
        rule = make_rule(momentum, float(np.prod([int(length) for length in x.shape[:-1]])))
        correction = rule.correction / normalization.bessel_correction(x)  # of a variance that has Bessel's already
        scope.update("moving_mean", means - (means - normalized.mean) * rule.share)
        scope.update("moving_variance", variances - (variances - normalized.variance * correction) * rule.share)
        return normalized.values

    return batch_norm


def larger_epsilon(scope: Scope, x: tf.Tensor, momentum: float = 0.9, epsilon: float = 1e-5) -> tf.Tensor:
    """Normalizes as `layers.batch_norm` with 100 times the epsilon.

    Args:
      scope, x, momentum, epsilon: as for `layers.batch_norm`.

    Returns:
      `x` normalized, of the same shape.
    """
    return _BATCH_NORM(scope, x, momentum, 100 * epsilon)


def in_batch_norm(batch_norm: BatchNorm) -> injection.Change:
    """Traces the port with another `layers.batch_norm`.

    Afterwards the function is restored that was there when this module was imported, not the one found before tracing:
    replicas are traced in threads that take turns at each exchange, so that the one found may be another replica's
    replacement.
    """

    class Step(ReplicaStep):
        def _forward_backward(self, local: LocalState, step: tf.Tensor, replica: int, batch: Tensors) -> PassResult:
            layers.batch_norm = batch_norm
            try:
                return super()._forward_backward(local, step, replica, batch)
            finally:
                layers.batch_norm = _BATCH_NORM

    return injection.in_replica_step(Step)
