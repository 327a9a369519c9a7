"""How replicas get their batches: a `tf.data` pipeline per process, or batches resident on the devices."""

from __future__ import annotations

import itertools

import tensorflow as tf


class ReplicaInput:
    """Delivers per-replica batches, in order from a step of choice.

    Args:
      job, source: what to deliver; a fixed source is put on the devices once.
      strategy: whose replicas take the batches.
    """

    def __init__(self, job, source, strategy):
        self._job = job
        self._source = source
        self._strategy = strategy
        self._first = 0
        self._resident = self._put_on_devices() if source.fixed else None
        self._dataset = None if source.fixed else self._pipeline()

    @property
    def resident(self):
        """Whether the batch is on the devices for good."""
        return self._resident is not None

    def start(self, step):
        """An iterator of per-replica batches from `step` on (resident: the batch itself)."""
        self._first = step
        return self._resident if self._dataset is None else iter(self._dataset)

    @staticmethod
    def take(batches):
        """The next per-replica batch; call inside the `tf.function`."""
        return batches if isinstance(batches, dict) else next(batches)

    def _put_on_devices(self):
        shards = self._source.shards(0)
        return {
            name: self._strategy.experimental_distribute_values_from_function(
                lambda context, name=name: tf.constant(shards[context.replica_id_in_sync_group][name]))
            for name in shards[0]
        }

    def _pipeline(self):
        """Replica batches one after the other; the strategy deals them to the replicas in turn."""
        size, dtype = self._job.per_replica_batch, self._job.dtype
        signature = {
            name: tf.TensorSpec((size,) + tuple(spec.shape), spec.dtype(dtype))
            for name, spec in self._job.workload.inputs().items()
        }

        def shards():
            for step in itertools.count(self._first):
                yield from self._source.shards(step)

        def dataset(context):
            made = tf.data.Dataset.from_generator(shards, output_signature=signature)
            # Said to be endless, the iterator needs no look ahead for a partial last batch.
            made = made.apply(tf.data.experimental.assert_cardinality(tf.data.experimental.INFINITE_CARDINALITY))
            return made.prefetch(2 * self._job.replicas)

        return self._strategy.distribute_datasets_from_function(dataset)
