"""Legacy's batches as a port reads them: a `tf.data.Dataset` of global batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import tensorflow as tf

from workloads.job import Job
from workloads.program import Arrays
from workloads.sources import GlobalBatches


class LegacyBatches:
    """Legacy's batches, for a port.

    Args:
      job: the job.
      source: its batches.

    Attributes:
      global_batch: examples of one step.
    """

    def __init__(self, job: Job, source: GlobalBatches) -> None:
        self.global_batch = job.global_batch
        self._source = source

    def shards(self, step: int) -> list[Arrays]:
        """Returns each replica's {input: array} in that step."""
        return self._source.shards(step)

    def dataset(self, choose: Callable[[Arrays], tuple[np.ndarray, ...]]) -> tf.data.Dataset:
        """Returns an endless dataset of global batches; `choose({input: array})` makes the elements."""
        first = choose(self._source.batch(0))
        signature = tuple(tf.TensorSpec(array.shape, array.dtype) for array in first)

        def batches() -> Iterator[tuple[np.ndarray, ...]]:
            step = 0
            while True:
                yield choose(self._source.batch(step))
                step += 1

        return tf.data.Dataset.from_generator(batches, output_signature=signature)
