"""Collectives of a replica step on packed tensors: all-reduce, all-gather, and broadcast from the first replica."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import tensorflow as tf

from modern.collectives.packing import Packing
from workloads.numerics import combining

#: Elements of the largest tensors that are packed within one process: from here on the copies cost more.
LARGEST_PACKED = 2**14


def all_reduce(
    context: tf.distribute.ReplicaContext, how: tf.distribute.ReduceOp, tensors: Sequence[tf.Tensor]
) -> list[tf.Tensor]:
    """Reduces each of `tensors` over the replicas.

    Args:
      context: the replica's context.
      how: mean or sum.
      tensors: this replica's; the same shapes on every replica.

    Returns:
      The reduced tensors, the same on every replica.
    """
    form = getattr(context.strategy, "form", None)  # of a `MultiWorkerStrategy`
    if form is None:
        return _packed(context, tensors, lambda packed: _reduce(context, how, packed))
    name = "mean" if how == tf.distribute.ReduceOp.MEAN else "sum"

    def in_order(packed: list[tf.Tensor]) -> list[tf.Tensor]:
        return [combining.combine(values, name, form) for values in gather(context, packed)]

    return _packed(context, tensors, in_order)


def from_first(context: tf.distribute.ReplicaContext, tensors: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Returns the first replica's values, on every replica."""
    return from_replica(context, tensors, 0)


def from_replica(context: tf.distribute.ReplicaContext, tensors: Sequence[tf.Tensor], replica: int) -> list[tf.Tensor]:
    """Hands the values of one replica to all.

    Args:
      context: the replica's context.
      tensors: this replica's; the same shapes on every replica.
      replica: number of the one that is taken; counted from the end if negative.

    Returns:
      That replica's values, on every replica.
    """
    return _packed(context, tensors, lambda packed: [values[replica] for values in gather(context, packed)])


def gather(context: tf.distribute.ReplicaContext, tensors: Sequence[tf.Tensor]) -> list[list[tf.Tensor]]:
    """Returns, for each of `tensors`, the list of all replicas' values, on every replica."""
    if context.num_replicas_in_sync == 1 or not tensors:
        return [[tensor] for tensor in tensors]
    if isinstance(context.strategy, tf.distribute.MultiWorkerMirroredStrategy):
        together = context.all_gather([tensor[tf.newaxis] for tensor in tensors], 0)
        return [tf.unstack(values, context.num_replicas_in_sync) for values in together]

    def collect(strategy: tf.distribute.Strategy, *values: tf.Tensor) -> list[list[tf.Tensor]]:
        return [list(strategy.experimental_local_results(value)) for value in values]

    return context.merge_call(collect, args=tuple(tensors))


def concat(context: tf.distribute.ReplicaContext, tensors: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Returns, for each of `tensors`, the replicas' values joined along their first dimension, on every replica."""
    return [tf.concat(values, 0) for values in gather(context, tensors)]


def _packed(
    context: tf.distribute.ReplicaContext,
    tensors: Sequence[tf.Tensor],
    exchange: Callable[[list[tf.Tensor]], list[tf.Tensor]],
) -> list[tf.Tensor]:
    """Applies `exchange` to `tensors` packed into few, and unpacks the result; a single replica exchanges nothing."""
    replicas = context.num_replicas_in_sync
    if replicas == 1:
        return list(tensors)
    one_process = isinstance(context.strategy, tf.distribute.MirroredStrategy)
    packing = Packing(replicas, LARGEST_PACKED) if one_process else Packing(replicas)
    return packing.unpack(exchange(packing.pack(tensors)), tensors)


def _reduce(
    context: tf.distribute.ReplicaContext, how: tf.distribute.ReduceOp, tensors: Sequence[tf.Tensor]
) -> list[tf.Tensor]:
    """`context.all_reduce`, without the gradient that it registers under mirrored strategies.

    TensorFlow keeps that gradient, and with it the traced step and its input's threads, until the process ends.
    """
    if not isinstance(context.strategy, tf.distribute.MirroredStrategy):
        return context.all_reduce(how, list(tensors))

    def reduce(strategy: tf.distribute.Strategy, *values: tf.Tensor) -> list[tf.Tensor]:
        return strategy.extended.batch_reduce_to(how, [(value, value) for value in values])

    return list(context.merge_call(reduce, args=tuple(tensors)))
