"""Packing of many tensors into one, so that a reduction moves one buffer instead of hundreds."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import tensorflow as tf


@dataclasses.dataclass(frozen=True)
class Packing:
    """Joins small tensors for a reduction over replicas, and takes the result apart again.

    A single element stays alone from three replicas on: `reduce_mean` adds a lone column in another order than
    one column among many, so that packing it would change its last bits. Two replicas make one addition, which has
    no order.

    Attributes:
      replicas: how many replicas reduce the tensors.
      largest: tensors of more elements stay alone, where copying them costs more than a reduction of their own.
    """

    replicas: int
    largest: float = math.inf

    def pack(self, tensors: Sequence[tf.Tensor]) -> list[tf.Tensor]:
        """Joins tensors of one dtype with static shapes.

        Returns:
          The tensors to be reduced one by one: one flat tensor, if any were joined, then those that stay alone.
        """
        flat = [tf.reshape(tensor, [-1]) for tensor in tensors if not self._stays_alone(tensor)]
        alone = [tensor for tensor in tensors if self._stays_alone(tensor)]
        return ([tf.concat(flat, 0)] if flat else []) + alone

    def unpack(self, packed: Sequence[tf.Tensor], like: Sequence[tf.Tensor]) -> list[tf.Tensor]:
        """Undoes `pack`: returns the reduced tensors `packed` with the shapes of `like`, in its order."""
        sizes = [tensor.shape.num_elements() for tensor in like if not self._stays_alone(tensor)]
        parts = iter(tf.split(packed[0], sizes) if sizes else [])
        alone = iter(packed[1:] if sizes else packed)
        return [next(alone) if self._stays_alone(tensor) else tf.reshape(next(parts), tensor.shape) for tensor in like]

    def _stays_alone(self, tensor: tf.Tensor) -> bool:
        elements: int = tensor.shape.num_elements()
        return elements > self.largest or (self.replicas > 2 and elements == 1)
