"""`Worker`: the place of this process in a cluster of workers."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tensorflow as tf  # what starts workers need not wait for it


@dataclasses.dataclass(frozen=True)
class Worker:
    """One of the workers of a cluster.

    Attributes:
      resolver: the `ClusterResolver` that knows all of them.
      index: this worker's number, from 0; worker 0 is the chief.
      count: how many there are.
      on_machine: how many of them have the same host as this one, which they share with it.
    """

    resolver: tf.distribute.cluster_resolver.ClusterResolver
    index: int
    count: int
    on_machine: int = 1

    @property
    def chief(self) -> bool:
        """Whether this worker alone prints, and writes checkpoints and results."""
        return self.index == 0
