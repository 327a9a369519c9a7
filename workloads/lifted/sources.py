"""Batches for a lifted program: synthetic within the bounds that its graph shows, from arrays, or from a pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

import numpy as np
import tensorflow as tf

from workloads.data.batches import Request, Wanted
from workloads.data.epochs import Order
from workloads.lifted.made_up_data import (
    BatchSize,
    dealt_rows,
    is_shared_tensor,
    made_up_sparse_tensor,
    made_up_values,
    part_of_whole,
    sparse_groups,
    tie_parts,
)
from workloads.lifted.own_examples import OwnExamples
from workloads.lifted.plan.settings import fed_learning_rates
from workloads.lifted.shapes import common_shape, fits
from workloads.lifted.workload import as_lifted
from workloads.numerics import random_keys
from workloads.sources import Source
from workloads.support.errors import require

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from workloads.data.batches import Data
    from workloads.job import Job
    from workloads.lifted.plan import Input
    from workloads.program import Arrays


#: Made-up learning rates are below it: with Adam, a rate near one makes the weights of most networks overflow.
LARGEST_RATE = 0.01


class _LiftedSource(Source):
    """Batches of a lift's inputs.

    Args:
      job: the `Job`, of a `LiftedWorkload`.
      settings: {input name: value} of inputs that have one value.
    """

    def __init__(self, job: Job, settings: Mapping[str, Any] | None = None) -> None:
        super().__init__(job)
        self._settings = settings or {}
        self._inputs: Dict[str, Input] = as_lifted(job.workload).inputs()
        self.shared = [name for name, entry in self._inputs.items() if entry.is_shared]
        entries = list(self._inputs.values())
        parts = {name: part_of_whole(entry, entries) for name, entry in self._inputs.items()}
        self._parts = {name: part.name for name, part in parts.items() if part is not None}

    def _share_parts(self, shards: Sequence[Arrays]) -> None:
        """Gives replicas whose towers take one tensor of the graph the same values: those of the first of them."""
        for name, entry in self._inputs.items():
            for replica, shard in enumerate(shards if entry.shares_parts else ()):
                shard[name] = shards[entry.first_taker(replica)][name]


class LiftedSynthetic(_LiftedSource):
    """Synthetic examples: floats uniform in [0, 1), integers uniform below what labels and embeddings allow.

    Where the graph does not run with such, the examples are rows of the batches that the lift keeps. A learning rate
    that was fed is another one in each step, too.

    Args:
      job: the `Job`, of a `LiftedWorkload`.
      settings: {input name: value} of inputs that are not to be drawn.
    """

    def __init__(self, job: Job, settings: Mapping[str, Any] | None = None) -> None:
        super().__init__(job, settings)
        lift = as_lifted(job.workload)
        self._rates = fed_learning_rates(lift.plan, lift.graph)
        batches = lift.own_batches()
        self._own = OwnExamples(batches, lift.plan.towers, list(self._inputs.values())) if batches else None
        known = {*self._settings, *(name for batch in batches or () for name in batch if name not in self._rates)}
        scalars = [name for name, entry in self._inputs.items() if entry.kind == "setting"]
        self.made_up_scalars = [name for name in scalars if name not in known]

    def shards(self, step: int) -> list[Arrays]:
        shards = [self._shard(step, replica) for replica in range(self._job.replicas)]
        self._share_parts(shards)
        tie_parts(list(self._inputs.values()), shards)
        return shards

    def shapes(self) -> dict[str, tuple[Optional[int], ...]]:
        """Returns {input name: shape}; the lift's own batches may be padded to other sizes in other steps."""
        found = super().shapes()
        for batch in self._own.batches if self._own else ():
            for name, value in batch.items():
                rows = found[name][:1] if self._own and self._own.has_rows else np.shape(value)[:1]
                found[name] = common_shape(found[name], (*rows, *np.shape(value)[1:]))
        return found

    def _shard(self, step: int, replica: int) -> Arrays:
        """Returns one replica's values of all inputs."""
        job = self._job
        size = BatchSize(job.per_replica_batch, job.replicas)
        shard: Arrays = {}
        if self._own is not None:
            own = self._own.draw(step, replica, size, self._generator(step, "rows", replica))
            shard.update((name, value) for name, value in own.items() if name not in self._rates)
        for name, entry in sorted(self._inputs.items()):
            if entry.name in self._settings:
                shard[name] = np.array(self._settings[name]).astype(entry.dtype)
            elif not entry.sparse and name not in shard:
                shared = entry.is_shared or entry.kind == "setting"
                value = made_up_values(entry, size, self._generator(step, name, 0 if shared else replica))
                shard[name] = np.asarray(value * LARGEST_RATE, value.dtype) if name in self._rates else value
        for name, parts in sparse_groups([entry for name, entry in self._inputs.items() if name not in shard]).items():
            owner = 0 if is_shared_tensor(parts) else replica
            values = made_up_sparse_tensor(parts, size, self._generator(step, name, owner))
            shard.update((part, value) for part, value in values.items() if part not in shard)
        return shard

    def _generator(self, step: int, name: str, replica: int) -> np.random.RandomState:
        return random_keys.generator("lifted", self._job.seed, self._job.workload.name, step, name, replica)


class LiftedResident(LiftedSynthetic):
    """The first synthetic batch, at every step."""

    fixed = True

    def shards(self, step: int) -> list[Arrays]:
        return super().shards(0)


class LiftedData(_LiftedSource):
    """The user's own global batches, cut into one contiguous part for each replica.

    Args:
      job: the `Job`, of a `LiftedWorkload`.
      next_batch: function from a step to {input name: array [global batch, ...]}.
      settings: {input name: value} of scalars that the data do not have.
    """

    def __init__(self, job: Job, next_batch: Callable[[int], Arrays], settings: Mapping[str, Any]) -> None:
        super().__init__(job, settings)
        self._next = next_batch
        self._what = "--data"
        self._latest: Optional[Tuple[int, List[Arrays]]] = None  # step and shards

    def shards(self, step: int) -> list[Arrays]:
        latest = self._latest
        if latest is None or latest[0] != step:
            latest = self._latest = (step, self._cut(self._next(step)))
        return latest[1]

    def _cut(self, batch: Arrays) -> List[Arrays]:
        """Returns each replica's part of a global batch."""
        replicas = self._job.replicas
        shards: List[Arrays] = [{} for _ in range(replicas)]
        for name, entry in self._inputs.items():
            value = batch.get(name)
            if value is None and name in self._settings:  # a text, of --settings
                value = np.array(self._settings[name]).astype(entry.dtype)
            if value is None and name in self._parts:
                value = batch.get(self._parts[name])  # of all replicas
            have = ", ".join(sorted(batch)) or "nothing"
            require(value is not None, self._what, have, f"it must have {name!r}: {entry.dtype} {entry.shape}")
            value = checked_values(self._what, entry, value)
            for replica, shard in enumerate(shards):
                shard[name] = value if entry.sparse else self._part(entry, value, replica)
        for parts in sparse_groups(list(self._inputs.values())).values():
            for replica, shard in enumerate(shards if not is_shared_tensor(parts) else ()):
                shard.update(dealt_rows(parts, shard, replica, self._job.per_replica_batch))
        self._share_parts(shards)
        return shards

    def _part(self, entry: Input, value: np.ndarray, replica: int) -> np.ndarray:
        """Returns one replica's part of an input's values."""
        if entry.kind not in ("batch", "whole"):
            return value
        rows = self._job.per_replica_batch if entry.kind == "batch" else len(value) // self._job.replicas
        part = value[replica * rows : (replica + 1) * rows]
        require(
            len(part) == rows,
            self._what,
            value.shape,
            self._too_few_rows(entry.name),
        )
        return part

    def _too_few_rows(self, name: str) -> str:
        return f"{name!r} has too few rows for --global_batch={self._job.global_batch}"


def checked_values(what: str, entry: Input, value: Any) -> np.ndarray:
    """Checks an input's values.

    Args:
      what: beginning of a message about them.
      entry: the input.
      value: numbers, or texts for an input of them, of all replicas together.

    Returns:
      the values in the input's dtype; texts as bytes.

    Raises:
      InputError: they are no numbers, or no texts for an input of them, or not of the shape that the graph takes.
    """
    expected = f"{entry.name!r} must be {entry.dtype} {entry.shape}"
    array = np.asarray(value)
    is_text = entry.dtype == "string"
    numbers = array.dtype.kind in "fiub" or array.dtype.name == "bfloat16"
    known = array.dtype.kind in "OSU" if is_text else numbers or array.dtype == entry.dtype
    require(known, what, f"{array.dtype} {array.shape}", expected)
    if entry.shape is not None:
        cut = 0 if entry.kind == "setting" else 1  # the first dimension is the batch's, which is cut
        same_rank = array.ndim == len(entry.shape)
        fitting = same_rank and fits(array.shape[cut:], entry.shape[cut:])
        require(fitting, what, f"{array.dtype} {array.shape}", expected)
    return _as_bytes(array) if is_text else array.astype(entry.dtype)


def _as_bytes(texts: np.ndarray) -> np.ndarray:
    """Returns texts as bytes of one length, in which equal texts have equal bytes."""
    return np.char.encode(texts, "utf-8") if texts.dtype.kind == "U" else texts.astype(bytes)


class LiftedOwnData(LiftedData):
    """The user's own examples, in the order that the seed says.

    Args:
      job: the `Job`, of a `LiftedWorkload`.
      data: the opened data.
      settings: {input name: value} of scalars that the data do not have.
      shuffle: whether each epoch has an order of its own.
    """

    def __init__(self, job: Job, data: Data, settings: Mapping[str, Any] | None = None, shuffle: bool = True) -> None:
        inputs: Dict[str, Input] = as_lifted(job.workload).inputs()
        wanted = {
            name: Wanted(_rank_of_example(entry), f"{entry.dtype} {entry.shape}")
            for name, entry in inputs.items()
            if name not in (settings or {}) and part_of_whole(entry, list(inputs.values())) is None
        }
        order = Order(job.global_batch, job.seed, shuffle, job.workload.last_batch)
        self._batches = data.batches(Request(order, wanted, lambda what, arrays, count: arrays))
        super().__init__(job, self._batches.batch, settings or {})
        self._what = data.name

    @property
    def has_pipeline(self) -> bool:
        sparse = any(entry.sparse for entry in self._inputs.values())  # those are dealt in numpy
        return not sparse and self._batches.full_dataset() is not None

    @property
    def is_read_in_order(self) -> bool:
        return self._batches.is_read_in_order

    def ends(self) -> Tuple[int, ...]:
        return self._batches.ends()

    def steps(self, epochs: int) -> Optional[int]:
        return self._batches.steps(epochs)

    def pipeline(self, step: int) -> tf.data.Dataset:
        """Returns a dataset of one replica's batch after the other, from `step` on, cut by TensorFlow itself."""
        replicas = self._job.replicas
        like = self.shards(0)  # also reports what the user's batches lack
        kinds = {name: entry.kind for name, entry in self._inputs.items()}

        def cut(batch: Dict[str, tf.Tensor]) -> Dict[str, tf.Tensor]:
            parts = {}
            for name, part in like[0].items():
                given = name if name in batch else self._parts.get(name, name)
                if name in batch and kinds[name] in ("batch", "whole"):
                    value = tf.cast(batch[name], part.dtype)
                    parts[name] = tf.reshape(value, (replicas,) + part.shape)
                else:
                    value = tf.cast(batch[given], part.dtype) if given in batch else tf.constant(part)
                    parts[name] = tf.repeat(value[tf.newaxis], replicas, 0)
            return parts

        dataset = self._batches.full_dataset()
        assert dataset is not None  # see `has_pipeline`
        return dataset.repeat().skip(step).map(cut).unbatch()


def _rank_of_example(entry: Input) -> Optional[int]:
    """Returns the number of dimensions of one example of an input; None if it has no row for each example."""
    return len(entry.shape) - 1 if entry.has_examples and entry.shape and not entry.sparse else None
