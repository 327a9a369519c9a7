"""What replicas hand to each other within a step, packed into few tensors for the way."""

from __future__ import annotations

import tensorflow as tf

from modern import packing


def all_reduce(context, how, tensors):
    """Every replica gets the replicas' tensors reduced; `how` is a `tf.distribute.ReduceOp`."""
    return _packed(context, tensors, lambda packed: context.all_reduce(how, packed))


def from_first(context, tensors):
    """Every replica gets the first replica's values."""

    def first(strategy, *packed):
        return [strategy.experimental_local_results(value)[0] for value in packed]

    return _packed(context, tensors, lambda packed: context.merge_call(first, args=tuple(packed)))


def _packed(context, tensors, exchange):
    """`tensors` after `exchange` between the replicas, packed for the way; one replica has nobody to talk to."""
    replicas = context.num_replicas_in_sync
    if replicas == 1:
        return tensors
    return packing.unpack(exchange(packing.pack(tensors, replicas)), tensors, replicas)


def gather(context, tensors):
    """Every replica gets, for each of `tensors`, the list of all replicas' values."""
    if context.num_replicas_in_sync == 1:
        return [[tensor] for tensor in tensors]

    def collect(strategy, *values):
        return [list(strategy.experimental_local_results(value)) for value in values]

    return context.merge_call(collect, args=tuple(tensors)) if tensors else []


def concat(context, tensors):
    """Every replica gets the replicas' tensors joined along their first dimension."""
    return [tf.concat(values, 0) for values in gather(context, tensors)]
