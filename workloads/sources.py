"""Where batches come from. A source is asked for step k's global batch and answers the same, always."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from workloads.numerics import random_keys

if TYPE_CHECKING:
    import tensorflow as tf


class Source:
    """Base: `batch(step)` is a pure function of the step. `fixed` sources give the same batch at every step."""

    fixed = False
    #: Whether `pipeline` can be called; its batches then need not come from Python one by one.
    has_pipeline = False
    #: Random numbers of a lifted graph: "keyed", or "drawn" if the batches bring them.
    noise = "keyed"

    def __init__(self, job):
        self._job = job

    def batch(self, step):
        """{input name: array [global batch, *shape]} in the run's dtype."""
        inputs = self._job.workload.inputs()
        examples = self._examples(step)
        # Through float32 whatever the run's dtype, so that a float64 run sees the very same numbers.
        return {
            name: np.asarray(np.asarray(examples[name], spec.dtype("float32")), spec.dtype(self._job.dtype))
            for name, spec in inputs.items()
        }

    def shards(self, step):
        """The global batch cut into one contiguous slice per replica: list of {input name: array}."""
        return shard(self.batch(step), self._job.replicas)

    def pipeline(self, step: int) -> tf.data.Dataset:
        """Returns a `tf.data.Dataset` of one replica's batch after the other, from `step` on, if `has_pipeline`."""
        raise NotImplementedError(f"{type(self).__name__}.pipeline")

    def _examples(self, step):
        raise NotImplementedError


def shard(batch, replicas):
    """`batch` cut into `replicas` contiguous parts of one size."""
    size = len(next(iter(batch.values()))) // replicas
    return [{name: value[i * size : (i + 1) * size] for name, value in batch.items()} for i in range(replicas)]


class Synthetic(Source):
    """The workload's own made-up examples, new at every step."""

    def _examples(self, step):
        rng = random_keys.generator("batch", self._job.seed, self._job.workload.name, step)
        return self._job.workload.examples(rng, self._job.global_batch)


class Resident(Synthetic):
    """The first synthetic batch, at every step: input that costs nothing, for measuring the step alone."""

    fixed = True

    def batch(self, step):
        return super().batch(0)
