"""Many tensors as one, so that a reduction moves one buffer instead of hundreds."""

from __future__ import annotations

import tensorflow as tf


def pack(tensors, replicas):
    """The tensors as few: one flat tensor, then those that have to stay alone.

    A single element stays alone from three replicas on: `reduce_mean` adds a lone column in another order than
    one column among many, and packing it would cost the identical bits that everything else keeps. Two
    replicas make one addition, which has no order.

    Returns:
      list of tensors, to be reduced one by one and given to `unpack`.
    """
    flat = [tf.reshape(tensor, [-1]) for tensor in tensors if not _alone(tensor, replicas)]
    alone = [tensor for tensor in tensors if _alone(tensor, replicas)]
    return ([tf.concat(flat, 0)] if flat else []) + alone


def unpack(packed, like, replicas):
    """Undoes `pack`: tensors with the shapes of `like`, in its order."""
    sizes = [tensor.shape.num_elements() for tensor in like if not _alone(tensor, replicas)]
    packed = list(packed)
    parts = iter(tf.split(packed.pop(0), sizes) if sizes else [])
    alone = iter(packed)
    return [next(alone) if _alone(tensor, replicas) else tf.reshape(next(parts), tensor.shape) for tensor in like]


def _alone(tensor, replicas):
    return replicas > 2 and tensor.shape.num_elements() == 1
