"""How replicas get their batches: a `tf.data` pipeline per process, or batches resident on the devices."""

from __future__ import annotations

import itertools

import numpy as np
import tensorflow as tf

#: Batches that are handed from Python to TensorFlow in one call.
CHUNK_BYTES = 4 * 2**20


class ReplicaInput:
    """Delivers per-replica batches, in order from a step of choice.

    Args:
      job, source: what to deliver; a fixed source is put on the devices once.
      strategy: whose replicas take the batches.
      here: range of the replicas in this process, all or a worker's: it takes their shards of every global batch.
    """

    def __init__(self, job, source, strategy, here):
        self._job = job
        self._here = here
        self._source = source
        self._strategy = strategy
        self._first = 0
        fixed = source.fixed or not source.shards(0)[0]  # a graph may make up its data itself, and take none
        self._resident = self._put_on_devices() if fixed else None
        self._dataset = None if fixed or hasattr(source, "pipeline") else self._distribute(self._from_python())

    @property
    def resident(self):
        """Whether the batch is on the devices for good."""
        return self._resident is not None

    def start(self, step):
        """An iterator of per-replica batches from `step` on (resident: the batch itself)."""
        self._first = step
        if self._resident is None and hasattr(self._source, "pipeline"):
            self._dataset = self._distribute(self._source.pipeline(step))
        return self._resident if self._dataset is None else iter(self._dataset)

    @staticmethod
    def take(batches):
        """The next per-replica batch; call inside the `tf.function`."""
        return batches if isinstance(batches, dict) else next(batches)

    def _put_on_devices(self):
        shards = self._source.shards(0)
        return {
            name: self._strategy.experimental_distribute_values_from_function(
                lambda context, name=name: tf.constant(shards[context.replica_id_in_sync_group][name])
            )
            for name in shards[0]
        }

    def _distribute(self, batches):
        """Replica batches one after the other, which the strategy deals to the replicas in turn."""

        def dataset(context):
            # Said to be endless, the iterator needs no look ahead for a partial last batch.
            made = batches.apply(tf.data.experimental.assert_cardinality(tf.data.experimental.INFINITE_CARDINALITY))
            return made.prefetch(2 * len(self._here)).with_options(_fixed_options())

        return self._strategy.distribute_datasets_from_function(dataset)

    def _from_python(self):
        """A `tf.data.Dataset` of the source's replica batches."""
        first = self._source.shards(0)[0]
        steps = self._steps_per_chunk(first)
        signature = {
            name: tf.TensorSpec((steps * len(self._here),) + value.shape, value.dtype) for name, value in first.items()
        }

        def chunks():
            """Several steps' replica batches at once: a call from TensorFlow into Python costs a small step's time."""
            for first in itertools.count(self._first, steps):
                shards = [shard for step in range(first, first + steps) for shard in self._mine(step)]
                yield {name: np.stack([shard[name] for shard in shards]) for name in signature}

        return tf.data.Dataset.from_generator(chunks, output_signature=signature).prefetch(1).unbatch()

    def _mine(self, step):
        return self._source.shards(step)[self._here.start : self._here.stop]

    def _steps_per_chunk(self, shard):
        """As many steps as `CHUNK_BYTES` hold, from 1 to 16."""
        batch = sum(value.nbytes for value in shard.values()) * len(self._here)
        return max(1, min(16, CHUNK_BYTES // batch))


def _fixed_options():
    """Buffers are sized by hand; the autotuner's thread would only keep a finished program alive for a minute."""
    options = tf.data.Options()
    options.autotune.enabled = False
    options.deterministic = True
    return options
