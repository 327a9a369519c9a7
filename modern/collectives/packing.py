"""Packing of many tensors into one, so that a reduction moves one buffer instead of hundreds."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf


def pack_tensors(tensors: Sequence[tf.Tensor], replicas: int) -> list[tf.Tensor]:
    """Joins tensors into as few as possible: one flat tensor, then those that must be reduced alone.

    A single element stays alone from three replicas on: `reduce_mean` adds a lone column in another order than
    one column among many, so that packing it would change its last bits. Two replicas make one addition, which has
    no order.

    Args:
      tensors: of one dtype, with static shapes.
      replicas: how many replicas reduce them.

    Returns:
      The tensors to be reduced one by one, and given to `unpack_tensors`.
    """
    flat = [tf.reshape(tensor, [-1]) for tensor in tensors if not _stays_alone(tensor, replicas)]
    alone = [tensor for tensor in tensors if _stays_alone(tensor, replicas)]
    return ([tf.concat(flat, 0)] if flat else []) + alone


def unpack_tensors(packed: Sequence[tf.Tensor], like: Sequence[tf.Tensor], replicas: int) -> list[tf.Tensor]:
    """Undoes `pack_tensors`.

    Args:
      packed: what `pack_tensors` returned, reduced.
      like: the tensors that were packed.
      replicas: as for `pack_tensors`.

    Returns:
      Tensors with the shapes of `like`, in its order.
    """
    sizes = [tensor.shape.num_elements() for tensor in like if not _stays_alone(tensor, replicas)]
    parts = iter(tf.split(packed[0], sizes) if sizes else [])
    alone = iter(packed[1:] if sizes else packed)
    return [next(alone) if _stays_alone(tensor, replicas) else tf.reshape(next(parts), tensor.shape) for tensor in like]


def _stays_alone(tensor: tf.Tensor, replicas: int) -> bool:
    return replicas > 2 and tensor.shape.num_elements() == 1
