"""What replicas hand to each other within a step, packed into few tensors for the way."""

from __future__ import annotations

import tensorflow as tf

from modern.collectives import packing
from workloads.numerics import combining


def all_reduce(context, how, tensors):
    """Every replica gets the replicas' tensors reduced; `how` is a `tf.distribute.ReduceOp`."""
    form = getattr(context.strategy, "form", None)
    if form is None:
        return _packed(context, tensors, lambda packed: _reduce(context, how, packed))
    name = "mean" if how == tf.distribute.ReduceOp.MEAN else "sum"

    def in_order(packed):
        return [combining.combine(values, name, form) for values in gather(context, packed)]

    return _packed(context, tensors, in_order)


def _reduce(context, how, tensors):
    """`context.all_reduce`, without the gradient that it registers under mirrored strategies.

    TensorFlow keeps that gradient, and with it the traced step and its input's threads, until the process ends.
    """
    if not isinstance(context.strategy, tf.distribute.MirroredStrategy):
        return context.all_reduce(how, tensors)

    def reduce(strategy, *values):
        return strategy.extended.batch_reduce_to(how, [(value, value) for value in values])

    return list(context.merge_call(reduce, args=tuple(tensors)))


def from_first(context, tensors):
    """Every replica gets the first replica's values."""
    return _packed(context, tensors, lambda packed: [values[0] for values in gather(context, packed)])


def _packed(context, tensors, exchange):
    """`tensors` after `exchange` between the replicas, packed for the way; one replica has nobody to talk to."""
    replicas = context.num_replicas_in_sync
    if replicas == 1:
        return tensors
    return packing.unpack(exchange(packing.pack(tensors, replicas)), tensors, replicas)


def gather(context, tensors):
    """Every replica gets, for each of `tensors`, the list of all replicas' values."""
    if context.num_replicas_in_sync == 1 or not tensors:
        return [[tensor] for tensor in tensors]
    if isinstance(context.strategy, tf.distribute.MultiWorkerMirroredStrategy):
        together = context.all_gather([tensor[tf.newaxis] for tensor in tensors], 0)
        return [tf.unstack(values, context.num_replicas_in_sync) for values in together]

    def collect(strategy, *values):
        return [list(strategy.experimental_local_results(value)) for value in values]

    return context.merge_call(collect, args=tuple(tensors))


def concat(context, tensors):
    """Every replica gets the replicas' tensors joined along their first dimension."""
    return [tf.concat(values, 0) for values in gather(context, tensors)]
