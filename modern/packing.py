"""Many tensors as one, so that a reduction moves one buffer instead of hundreds."""

from __future__ import annotations

import tensorflow as tf


def pack(tensors):
    """The tensors as few: one flat tensor of all that have several elements, then the single elements.

    A single element stays as it is because `reduce_mean` adds a lone column in another order than one column
    among many; packing it would cost the identical bits that everything else keeps.

    Returns:
      list of tensors, to be reduced one by one and given to `unpack`.
    """
    many = [tf.reshape(tensor, [-1]) for tensor in tensors if _elements(tensor) != 1]
    single = [tensor for tensor in tensors if _elements(tensor) == 1]
    return ([tf.concat(many, 0)] if many else []) + single


def unpack(packed, like):
    """Undoes `pack`: tensors with the shapes of `like`, in its order."""
    many = [tensor for tensor in like if _elements(tensor) != 1]
    packed = list(packed)
    parts = iter(tf.split(packed.pop(0), [_elements(tensor) for tensor in many]) if many else [])
    single = iter(packed)
    return [
        next(single) if _elements(tensor) == 1 else tf.reshape(next(parts), tensor.shape) for tensor in like
    ]


def _elements(tensor):
    return tensor.shape.num_elements()
