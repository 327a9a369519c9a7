"""The replicas' batches: a `tf.data` pipeline per process, or one batch that stays on the devices."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from modern.mirrored.input.step_chunks import StepChunks, replica_devices
from modern.mirrored.step.step_tensors import Tensors
from workloads.job import Job
from workloads.program import Arrays
from workloads.sources import Source
from workloads.support.machine import allocator

#: Most bytes of a chunk: the batches of several steps, handed from Python to TensorFlow in one call.
CHUNK_BYTES = 4 * 2**20
#: Most steps of a chunk, and most seconds that it may take to make: where one batch takes longer, a step waits for that
#: batch only.
CHUNK_STEPS, CHUNK_SECONDS = 16, 0.02


class ReplicaInput:
    """Delivers per-replica batches, in order from a step of choice.

    Args:
      job: the `Job`.
      source: of the batches; a fixed source is put on the devices once.
      strategy: its replicas take the batches.
      here: range of the replicas in this process, all or a worker's: it takes their shards of every global batch.

    Attributes:
      failure: what the source raised, which TensorFlow may not pass on to the op that asks for the batch; or None.
    """

    def __init__(self, job: Job, source: Source, strategy: tf.distribute.Strategy, here: range) -> None:
        self._job = job
        self._here = here
        self._source = source
        self._strategy = strategy
        self._first = 0
        self._closed = False
        self.failure: Exception | None = None
        shards = source.shards(0)
        example = shards[0]
        fixed = source.fixed or not example  # a graph may make up its data itself, and take none
        self._resident = self._put_on_devices(shards) if fixed else None
        self._chunks: StepChunks | None = None
        self._dataset = None
        if not fixed and not source.has_pipeline:
            shapes = source.shapes()
            specs = {name: tf.TensorSpec((None, *shapes[name]), value.dtype) for name, value in example.items()}
            self._chunks = StepChunks(strategy, specs)
            self._dataset = self._distribute(self._from_python(specs, steps_per_chunk(example, len(here))))

    @property
    def resident(self) -> bool:
        """Whether the batch stays on the devices."""
        return self._resident is not None

    def start(self, step: int) -> Any:
        """Returns an iterator of per-replica batches from `step` on; the batch itself if it is resident."""
        self._first = step
        if self._chunks is not None:
            self._chunks.clear()
        if self._resident is None and self._source.has_pipeline:
            self._dataset = self._distribute(self._source.pipeline(step))
        if self._dataset is None:
            return self._resident
        batches = iter(self._dataset)
        allocator.restore()
        return batches

    def put(self, step: int) -> bool:
        """Puts the batch of one step where the next `take` finds it before it asks its iterator.

        A lone step far from the others, such as a visit of a comparison, then needs no new iterator, which takes longer
        than a small model's step. An iterator that `start` returned before can be handed to `take`: it is not read.

        Args:
          step: the step.

        Returns:
          whether it was put there; False where batches do not come from Python.
        """
        if self._chunks is None:
            return False
        self._chunks.fill(self._chunk_values(self._next_shards(step, 1)))
        return True

    def placeholders(self) -> Tensors:
        """Returns a per-replica batch of placeholders on the replicas' devices; call inside a function's trace."""
        devices = self._strategy.extended.worker_devices

        def placeholder(context: tf.distribute.ReplicaContext, name: str) -> tf.Tensor:
            replica = int(tf.get_static_value(context.replica_id_in_sync_group))
            value = self._source.shards(0)[self._here.start + replica][name]
            with tf.device(devices[replica]):
                return tf.compat.v1.placeholder(value.dtype, value.shape, name)

        return {
            name: self._strategy.experimental_distribute_values_from_function(
                lambda context, name=name: placeholder(context, name)
            )
            for name in self._source.shards(0)[0]
        }

    def close(self) -> None:
        """Makes no more batches in Python."""
        self._closed = True

    def take(self, batches: Any) -> Tensors:
        """Returns the next per-replica batch of what `start` returned; call inside the `tf.function`."""
        if self._chunks is not None:
            return self._chunks.take(batches)
        return batches if isinstance(batches, dict) else next(batches)

    def _put_on_devices(self, shards: list[Arrays]) -> dict[str, Any]:
        return {
            name: self._strategy.experimental_distribute_values_from_function(
                lambda context, name=name: tf.constant(shards[context.replica_id_in_sync_group][name])
            )
            for name in shards[0]
        }

    def _distribute(self, batches: tf.data.Dataset) -> Any:
        """Distributes a dataset of replica batches, which the strategy deals to the replicas in turn."""

        def dataset(context: tf.distribute.InputContext) -> tf.data.Dataset:
            # Declared endless, the iterator needs no look-ahead for a partial last batch.
            endless = batches.apply(tf.data.experimental.assert_cardinality(tf.data.experimental.INFINITE_CARDINALITY))
            return endless.prefetch(2 * len(self._here)).with_options(_fixed_options())

        return self._strategy.distribute_datasets_from_function(dataset)

    def _from_python(self, specs: dict[str, tf.TensorSpec], most: int) -> tf.data.Dataset:
        """Makes a `tf.data.Dataset` of the replicas' chunks of at most so many steps.

        Several steps' batches cross from Python at once: a call from TensorFlow into Python costs a small step's time.
        """

        def chunks() -> Iterator[Arrays]:
            step = first = self._first
            while not self._closed:
                # Twice as many each time: the first step waits for one batch, and a run of one step makes few others.
                shards = self._next_shards(step, min(most, step - first + 1))
                yield from self._chunk_values(shards)
                step += len(shards) // len(self._here)

        return tf.data.Dataset.from_generator(chunks, output_signature=specs)

    def _chunk_values(self, shards: list[Arrays]) -> list[Arrays]:
        """Returns each device's chunk [steps, per-replica batch, *shape] of each input, of the shards of some steps."""
        devices = len(replica_devices(self._strategy))  # one, where micro-batches follow each other
        of_devices = [shards[device::devices] for device in range(devices)]
        return [{name: _stacked([shard[name] for shard in own]) for name in own[0]} for own in of_devices]

    def _next_shards(self, first: int, most: int) -> list[Arrays]:
        """Reads the shards of the steps from `first` on, until `most` are read or `CHUNK_SECONDS` are over.

        A chunk ends where the shapes change, as those of batches that are padded to their longest example do.

        An error of a later step is left to the call that starts with it, since that step may never be needed.
        """
        shards: list[Arrays] = []
        end = time.monotonic() + CHUNK_SECONDS
        try:
            for step in range(first, first + most):
                following = self._shards_here(step)
                if not _has_shapes(following, shards):
                    break
                shards += following
                if self._closed or time.monotonic() > end:
                    break
        except Exception as error:
            if not shards:
                self.failure = error
                raise
        return shards

    def _shards_here(self, step: int) -> list[Arrays]:
        return self._source.shards(step)[self._here.start : self._here.stop]


def steps_per_chunk(shard: Arrays, replicas: int) -> int:
    """Returns the number of steps, 1 to `CHUNK_STEPS`, whose batches fit into `CHUNK_BYTES`.

    Args:
      shard: one replica's batch; all are of its size.
      replicas: number of replicas.
    """
    batch = sum(value.nbytes for value in shard.values()) * replicas
    return max(1, min(CHUNK_STEPS, CHUNK_BYTES // batch))


def _has_shapes(shards: list[Arrays], like: list[Arrays]) -> bool:
    """Whether the replicas' batches of one step have the shapes that those of other steps begin with, if any."""
    pairs = [(value, other[name]) for shard, other in zip(shards, like) for name, value in shard.items()]
    return all(np.shape(value) == np.shape(other) for value, other in pairs)


def _stacked(values: list[np.ndarray]) -> np.ndarray:
    """`np.stack`, which would copy a lone large batch for nothing."""
    return values[0][np.newaxis] if len(values) == 1 else np.stack(values)


def _fixed_options() -> tf.data.Options:
    """Buffers are sized by hand; the autotuner's thread would only keep a finished program alive for a minute."""
    options = tf.data.Options()
    options.autotune.enabled = False
    options.deterministic = True
    return options
