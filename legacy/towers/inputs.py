"""The ways tower programs got their batches, each as a `TowerInput`.

Where towers share one queue or iterator, which of them gets which batch is a race in the old programs. Here
tower i takes its batch after tower i - 1, by a control dependency, so that a run can be repeated.
"""

from __future__ import annotations

import itertools

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1


class TowerInput:
    """`batches[i]` is tower i's {input name: tensor}; `feed(step)` what a `session.run` of that step is given."""

    def __init__(self, job, source, devices):
        self.job = job
        self.source = source
        self.devices = devices
        self.specs = sorted(job.workload.inputs().items())
        self.batches = self._build()

    def _build(self):
        raise NotImplementedError

    def feed(self, step):
        return {}

    def start(self, session, step):
        """Begins to deliver batches from `step` on. Called again after a `load`."""

    def stop(self):
        """Ends threads that `start` began."""

    def _shape(self, spec, batch):
        return (batch,) + tuple(spec.shape)

    def _placeholders(self, batch):
        return {
            name: v1.placeholder(spec.dtype(self.job.dtype), self._shape(spec, batch), name)
            for name, spec in self.specs
        }

    def _types_and_shapes(self):
        """Of one tower's batch: (dtypes, shapes), in the order of `specs`."""
        size = self.job.per_replica_batch
        return [tf.as_dtype(s.dtype(self.job.dtype)) for _, s in self.specs], [
            self._shape(s, size) for _, s in self.specs
        ]

    def _named(self, values):
        return {name: value for (name, _), value in zip(self.specs, values)}

    def _in_turn(self, take):
        """One `take()` per tower, each after the one before."""
        batches, before = [], []
        for device in self.devices:
            with tf.device(device), tf.control_dependencies(before):
                values = take()
            batches.append(self._named(values))
            before = [value.op for value in values]
        return batches


class FeedPerTower(TowerInput):
    """A set of placeholders per tower (system 2, v1)."""

    def _build(self):
        return [self._placeholders(self.job.per_replica_batch) for _ in range(self.job.replicas)]

    def feed(self, step):
        shards = self.source.shards(step)
        return {batch[name]: shard[name] for batch, shard in zip(self.batches, shards) for name in batch}


class Split(TowerInput):
    """One set of placeholders, cut by `tf.split` (systems 1 and 2, v2)."""

    def _build(self):
        self._whole = self._placeholders(self.job.global_batch)
        parts = {name: tf.split(value, self.job.replicas) for name, value in self._whole.items()}
        return [{name: parts[name][i] for name in parts} for i in range(self.job.replicas)]

    def feed(self, step):
        batch = self.source.batch(step)
        return {self._whole[name]: batch[name] for name in self._whole}


class Queue(TowerInput):
    """A prefetch queue of capacity 2 x towers, filled by a queue runner; each tower dequeues (system 3)."""

    def _build(self):
        types, shapes = self._types_and_shapes()
        values = v1.py_func(self._produce, [], types, stateful=True)
        self._queue = tf.queue.FIFOQueue(2 * self.job.replicas, types, shapes)
        self._runner = v1.train.QueueRunner(self._queue, [self._queue.enqueue(values)])
        self._coordinator = None
        return self._in_turn(lambda: self._as_list(self._queue.dequeue()))

    def _as_list(self, values):
        return list(values) if isinstance(values, (list, tuple)) else [values]

    def _produce(self):
        return next(self._stream)

    def start(self, session, step):
        if self._coordinator is not None:
            raise RuntimeError("a queue runner cannot be started a second time: build a new program")
        self._stream = _tower_batches(self.source, self.specs, step)
        self._coordinator = v1.train.Coordinator()
        self._threads = self._runner.create_threads(session, self._coordinator, daemon=True, start=True)

    def stop(self):
        if self._coordinator is not None:
            self._coordinator.request_stop()
            self._coordinator.join(self._threads, stop_grace_period_secs=10)


class Dataset(TowerInput):
    """A `tf.data` iterator, from which each tower takes the next batch: what may replace the queue (system 3)."""

    def _build(self):
        types, shapes = self._types_and_shapes()
        self._first = 0
        if self.source.fixed:
            shards = self.source.shards(0)
            stacked = tuple(np.stack([shard[name] for shard in shards]) for name, _ in self.specs)
            dataset = tf.data.Dataset.from_tensor_slices(stacked).cache().repeat()
        else:
            dataset = tf.data.Dataset.from_generator(
                lambda: _tower_batches(self.source, self.specs, self._first), tuple(types), tuple(shapes)
            )
        dataset = dataset.prefetch(2 * self.job.replicas)
        self._iterator = v1.data.make_initializable_iterator(dataset)
        return self._in_turn(lambda: list(self._iterator.get_next()))

    def start(self, session, step):
        self._first = step
        session.run(self._iterator.initializer)


class Resident(TowerInput):
    """The first batch, held in a variable on each tower's device: input that costs nothing."""

    def _build(self):
        shards = self.source.shards(0)
        batches, self._fill = [], []
        for device, shard in zip(self.devices, shards):
            with tf.device(device):
                holders = [v1.placeholder(shard[name].dtype, shard[name].shape) for name, _ in self.specs]
                variables = [
                    v1.Variable(holder, trainable=False, collections=[], use_resource=True) for holder in holders
                ]
            for variable, holder, (name, _) in zip(variables, holders, self.specs):
                self._fill.append((variable.initializer, {holder: shard[name]}))
            with tf.device(device):
                batches.append(self._named([tf.identity(variable) for variable in variables]))
        return batches

    def start(self, session, step):
        for initializer, feed in self._fill:
            session.run(initializer, feed)


def _tower_batches(source, specs, first):
    """Endless tower batches, tower after tower, from step `first` on, as tuples in the order of `specs`."""
    for step in itertools.count(first):
        for shard in source.shards(step):
            yield tuple(shard[name] for name, _ in specs)


KINDS = {"feed": FeedPerTower, "split": Split, "queue": Queue, "dataset": Dataset, "resident": Resident}
