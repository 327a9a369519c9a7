"""Input pipelines of tower programs, each a `TowerInput`: feeding, queue runners, `tf.data`, resident batches.

Where towers share one queue or iterator, which of them gets which batch is a race in the old programs. Here
tower i takes its batch after tower i - 1, by a control dependency, so that a run can be repeated.
"""

from __future__ import annotations

import abc
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple, cast

import numpy as np
import tensorflow as tf

from workloads.support.machine import allocator

if TYPE_CHECKING:
    from workloads.job import Job
    from workloads.program import Arrays
    from workloads.sources import GlobalBatches, Source
    from workloads.workload import InputSpec

v1 = tf.compat.v1

#: {input name: tensor} of one tower.
Batch = Dict[str, tf.Tensor]
#: The `feed_dict` of `session.run`.
Feed = Dict[tf.Tensor, np.ndarray]


class TowerInput(abc.ABC):
    """Delivers every tower's batch inside the graph that is current when this is made.

    Args:
      job: the `Job`.
      source: of its batches.
      devices: device of each tower.

    Attributes:
      batches: list over towers of {input name: tensor}.
      specs: (input name, `InputSpec`) in the order of the names.
      failure: what the source raised, which TensorFlow may not pass on to the op that asks for the batch; or None.
    """

    def __init__(self, job: Job, source: Source, devices: Sequence[str]) -> None:
        self.job = job
        self.source = source
        self.devices = devices
        self.specs: List[Tuple[str, InputSpec]] = sorted(job.workload.inputs().items())
        self.failure: Optional[Exception] = None
        self.batches = self._build()

    @abc.abstractmethod
    def _build(self) -> list[Batch]:
        """Adds the input's ops to the graph; returns every tower's batch."""

    def feed(self, step: int) -> Feed:
        """Returns the `feed_dict` of step `step`; here an empty one."""
        return {}

    # Only some ways have anything to start or to stop.
    def start(self, session: tf.compat.v1.Session, step: int) -> None:  # noqa: B027
        """Begins to deliver batches from `step` on. Called again after a `load`."""

    def stop(self) -> None:  # noqa: B027
        """Ends threads that `start` began."""

    def _tower_batches(self, first: int) -> Iterator[tuple[np.ndarray, ...]]:
        """Yields `tower_batches` from step `first` on, and keeps the source's exception in `failure`."""
        try:
            yield from tower_batches(self.source, [name for name, _ in self.specs], first)
        except Exception as error:
            self.failure = error
            raise

    def _shape(self, spec: InputSpec, batch: int) -> tuple[int, ...]:
        return (batch,) + tuple(spec.shape)

    def _placeholders(self, batch: int) -> Batch:
        return {
            name: v1.placeholder(spec.dtype(self.job.dtype), self._shape(spec, batch), name)
            for name, spec in self.specs
        }

    def _types_and_shapes(self) -> tuple[list[tf.DType], list[tuple[int, ...]]]:
        """(dtypes, shapes) of one tower's batch, in the order of `specs`."""
        types = [tf.as_dtype(spec.dtype(self.job.dtype)) for _, spec in self.specs]
        return types, [self._shape(spec, self.job.per_replica_batch) for _, spec in self.specs]

    def _named(self, values: Sequence[tf.Tensor]) -> Batch:
        return {name: value for (name, _), value in zip(self.specs, values)}

    def _in_turn(self, take: Callable[[], list[tf.Tensor]]) -> list[Batch]:
        """One `take()` per tower, each after the one before."""
        batches: List[Batch] = []
        before: List[tf.Operation] = []
        for device in self.devices:
            with tf.device(device), tf.control_dependencies(before):
                values = take()
            batches.append(self._named(values))
            before = [value.op for value in values]
        return batches


class FeedPerTower(TowerInput):
    """A set of placeholders per tower."""

    def _build(self) -> list[Batch]:
        return [self._placeholders(self.job.per_replica_batch) for _ in range(self.job.replicas)]

    def feed(self, step: int) -> Feed:
        shards = self.source.shards(step)
        return {batch[name]: shard[name] for batch, shard in zip(self.batches, shards) for name in batch}


class Split(TowerInput):
    """One set of placeholders, cut by `tf.split`."""

    def _build(self) -> list[Batch]:
        self._whole = self._placeholders(self.job.global_batch)
        parts = {name: tf.split(value, self.job.replicas) for name, value in self._whole.items()}
        return [{name: parts[name][i] for name in parts} for i in range(self.job.replicas)]

    def feed(self, step: int) -> Feed:
        batch = cast("GlobalBatches", self.source).batch(step)  # lifted sources have none; they are fed by shards
        return {self._whole[name]: batch[name] for name in self._whole}


class Queue(TowerInput):
    """A prefetch queue of capacity 2 x towers, filled by a queue runner; each tower dequeues."""

    def _build(self) -> list[Batch]:
        types, shapes = self._types_and_shapes()
        values = v1.py_func(self._produce, [], types, stateful=True)
        self._queue = tf.queue.FIFOQueue(2 * self.job.replicas, types, shapes)
        self._runner = v1.train.QueueRunner(self._queue, [self._queue.enqueue(values)])
        self._coordinator = None
        return self._in_turn(lambda: self._as_list(self._queue.dequeue()))

    def _as_list(self, values: Any) -> list[tf.Tensor]:
        return list(values) if isinstance(values, (list, tuple)) else [values]

    def _produce(self) -> tuple[np.ndarray, ...]:
        return next(self._stream)

    def start(self, session: tf.compat.v1.Session, step: int) -> None:
        if self._coordinator is not None:
            raise RuntimeError("a queue runner cannot be started a second time: build a new program")
        self._stream = self._tower_batches(step)
        self._coordinator = v1.train.Coordinator()
        self._threads = self._runner.create_threads(session, self._coordinator, daemon=True, start=True)

    def stop(self) -> None:
        if self._coordinator is not None:
            self._coordinator.request_stop()
            try:
                # A thread that is still making a batch ends with the process.
                self._coordinator.join(self._threads, stop_grace_period_secs=2, ignore_live_threads=True)
            except tf.errors.OpError:
                if self.failure is None:  # else a step that needed the batch has raised it, or none did
                    raise


class Dataset(TowerInput):
    """A `tf.data` iterator, from which each tower takes the next batch: what may replace the queue."""

    def _build(self) -> list[Batch]:
        self._first = 0
        dataset = self._repeated() if self.source.fixed else self._streamed()
        self._iterator = v1.data.make_initializable_iterator(dataset.prefetch(2 * self.job.replicas))
        return self._in_turn(lambda: list(self._iterator.get_next()))

    def _repeated(self) -> tf.data.Dataset:
        """The batches of a fixed source, over and over."""
        shards = self.source.shards(0)
        stacked = tuple(np.stack([shard[name] for shard in shards]) for name, _ in self.specs)
        return tf.data.Dataset.from_tensor_slices(stacked).cache().repeat()

    def _streamed(self) -> tf.data.Dataset:
        types, shapes = self._types_and_shapes()
        return tf.data.Dataset.from_generator(lambda: self._tower_batches(self._first), tuple(types), tuple(shapes))

    def start(self, session: tf.compat.v1.Session, step: int) -> None:
        self._first = step
        session.run(self._iterator.initializer)
        allocator.restore()


class Resident(TowerInput):
    """The first batch, held in a variable on each tower's device: input that costs nothing."""

    def _build(self) -> list[Batch]:
        self._fill: List[Tuple[tf.Operation, Feed]] = []
        return [self._hold(device, shard) for device, shard in zip(self.devices, self.source.shards(0))]

    def _hold(self, device: str, shard: Arrays) -> Batch:
        with tf.device(device):
            holders = [v1.placeholder(shard[name].dtype, shard[name].shape) for name, _ in self.specs]
            variables = [v1.Variable(holder, trainable=False, collections=[], use_resource=True) for holder in holders]
        for variable, holder, (name, _) in zip(variables, holders, self.specs):
            self._fill.append((variable.initializer, {holder: shard[name]}))
        with tf.device(device):
            return self._named([tf.identity(variable) for variable in variables])

    def start(self, session: tf.compat.v1.Session, step: int) -> None:
        for initializer, feed in self._fill:
            session.run(initializer, feed)


def tower_batches(source: Source, names: Sequence[str], first: int) -> Iterator[tuple[np.ndarray, ...]]:
    """Yields tower batches without end, tower after tower.

    Args:
      source: of the batches.
      names: of the inputs.
      first: step to begin with.

    Yields:
      One tower's arrays, in the order of `names`.
    """
    for step in itertools.count(first):
        for shard in source.shards(step):
            yield tuple(shard[name] for name in names)


#: {value of `--legacy_input`: class}.
TOWER_INPUTS: Dict[str, Callable[[Job, Source, Sequence[str]], TowerInput]] = {
    "feed": FeedPerTower,
    "split": Split,
    "queue": Queue,
    "dataset": Dataset,
    "resident": Resident,
}
