"""Batches for a lifted program: synthetic within the bounds that its graph shows, from arrays, or from a pipeline."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

import numpy as np
import tensorflow as tf

from workloads.lifted.made_up_data import (
    BatchSize,
    dealt_rows,
    made_up_sparse_tensor,
    made_up_values,
    sparse_groups,
    tie_parts,
)
from workloads.lifted.workload import as_lifted
from workloads.numerics import random_keys
from workloads.sources import Source
from workloads.support import user_code, user_modules
from workloads.support.array_archive import ArrayArchive
from workloads.support.errors import InputError, require
from workloads.support.input_files import require_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from workloads.job import Job
    from workloads.lifted.plan import Input
    from workloads.program import Arrays

#: The most that the arrays of --data may take: so many bytes, or a multiple of a larger compressed file.
MOST_BYTES, MOST_EXPANSION = 512 << 20, 20


class LiftedSynthetic(Source):
    """Synthetic examples: floats uniform in [0, 1), integers uniform below what labels and embeddings allow.

    Args:
      job: the `Job`, of a `LiftedWorkload`.
      settings: {input name: value} of inputs that are not to be drawn.
    """

    def __init__(self, job: Job, settings: Mapping[str, Any] | None = None) -> None:
        super().__init__(job)
        self._settings = settings or {}
        self._inputs: Dict[str, Input] = as_lifted(job.workload).inputs()

    def shards(self, step: int) -> list[Arrays]:
        shards = [self._shard(step, replica) for replica in range(self._job.replicas)]
        tie_parts(list(self._inputs.values()), shards)
        return shards

    def _shard(self, step: int, replica: int) -> Arrays:
        """Returns one replica's values of all inputs."""
        job = self._job
        size = BatchSize(job.per_replica_batch, job.replicas)
        shard: Arrays = {}
        for name, entry in sorted(self._inputs.items()):
            if entry.name in self._settings:
                shard[name] = np.array(self._settings[name]).astype(entry.dtype)
            elif not entry.sparse:
                shared = entry.kind in ("same", "setting")
                shard[name] = made_up_values(entry, size, self._generator(step, name, 0 if shared else replica))
        for name, parts in sparse_groups(list(self._inputs.values())).items():
            values = made_up_sparse_tensor(parts, size, self._generator(step, name, replica))
            shard.update((part, value) for part, value in values.items() if part not in shard)
        return shard

    def _generator(self, step: int, name: str, replica: int) -> np.random.RandomState:
        return random_keys.generator("lifted", self._job.seed, self._job.workload.name, step, name, replica)


class LiftedResident(LiftedSynthetic):
    """The first synthetic batch, at every step."""

    fixed = True

    def shards(self, step: int) -> list[Arrays]:
        return super().shards(0)


class LiftedData(LiftedSynthetic):
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
            value = batch.get(name, self._settings.get(name))
            have = ", ".join(sorted(batch)) or "nothing"
            require(value is not None, self._what, have, f"it must have {name!r}: {entry.dtype} {entry.shape}")
            value = checked_values(self._what, entry, value)
            for replica, shard in enumerate(shards):
                shard[name] = value if entry.sparse else self._part(entry, value, replica)
        for parts in sparse_groups(list(self._inputs.values())).values():
            for replica, shard in enumerate(shards):
                shard.update(dealt_rows(parts, shard, replica, self._job.per_replica_batch))
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
      value: numbers, of all replicas together.

    Returns:
      the values in the input's dtype.

    Raises:
      InputError: they are no numbers, or not of the shape that the graph takes.
    """
    expected = f"{entry.name!r} must be {entry.dtype} {entry.shape}"
    array = np.asarray(value)
    numbers = array.dtype.kind in "fiub" or array.dtype.name == "bfloat16"
    require(numbers or array.dtype == entry.dtype, what, f"{array.dtype} {array.shape}", expected)
    if entry.shape is not None:
        cut = 0 if entry.kind == "setting" else 1  # the first dimension is the batch's, which is cut
        sizes = list(array.shape)
        fits = len(sizes) == len(entry.shape) and all(
            expects in (None, size) for size, expects in zip(sizes[cut:], entry.shape[cut:])
        )
        require(fits, what, f"{array.dtype} {array.shape}", expected)
    return array.astype(entry.dtype)


class LiftedDataset(LiftedData):
    """The user's own `tf.data` pipeline of global batches.

    Args:
      job: the `Job`, of a `LiftedWorkload`.
      make_dataset: function from the global batch to a `tf.data.Dataset` of {input name: tensor [global batch, ...]}.
      settings: {input name: value} of scalars that the data do not have.
      name: of the function, for messages.
    """

    has_pipeline = True

    def __init__(
        self,
        job: Job,
        make_dataset: Callable[[int], tf.data.Dataset],
        settings: Mapping[str, Any],
        name: str = "--data",
    ) -> None:
        self._make, self._name = make_dataset, name
        self._iterator = self._repeated()
        super().__init__(job, lambda step: next(self._iterator), settings)
        self._what = user_code.named(name, make_dataset)
        self.has_pipeline = not any(entry.sparse for entry in self._inputs.values())  # those are dealt in numpy

    def _dataset(self) -> tf.data.Dataset:
        """Calls the user's function and checks what it returns."""
        with user_code.calling(self._name, self._make, "a tf.data.Dataset of {input name: tensor [global batch, ...]}"):
            dataset = self._make(self._job.global_batch)
        what, allowed = self._what, "must be a tf.data.Dataset of {input name: tensor}"
        require(isinstance(dataset, tf.data.Dataset), what, dataset, allowed)
        spec = dataset.element_spec
        require(isinstance(spec, dict), what, spec, allowed)
        for name, entry in self._inputs.items():
            have = ", ".join(sorted(map(str, spec))) or "nothing"
            required = f"it must have {name!r}: {entry.dtype} {entry.shape}"
            require(name in spec or name in self._settings, what, have, required)
            require(isinstance(spec.get(name, tf.TensorSpec([])), tf.TensorSpec), what, spec.get(name), required)
        return dataset

    def _repeated(self) -> Iterator[Arrays]:
        """Yields the batches endlessly. Made when the first is asked for: before, devices may not have been chosen."""
        dataset = self._dataset()
        while True:
            count = 0
            batches = dataset.as_numpy_iterator()
            while True:
                with user_code.calling(self._name, self._make):
                    batch = next(batches, None)
                if batch is None:
                    break
                count += 1
                yield batch
            require(count, self._what, "no batch", "the dataset must have at least one")

    def pipeline(self, step: int) -> tf.data.Dataset:
        """Returns a dataset of one replica's batch after the other, from `step` on, cut by TensorFlow itself.

        A pipeline must not be read from inside another one's Python function: each can wait for the other forever.
        """
        replicas = self._job.replicas
        like = self.shards(0)  # also reports what the user's batches lack
        kinds = {name: entry.kind for name, entry in self._inputs.items()}

        def cut(batch: Dict[str, tf.Tensor]) -> Dict[str, tf.Tensor]:
            parts = {}
            for name, part in like[0].items():
                if name in batch and kinds[name] in ("batch", "whole"):
                    rows = replicas * len(part)
                    few = f"InputError: {self._what}: {self._too_few_rows(name)}"
                    with tf.control_dependencies(
                        [tf.debugging.assert_greater_equal(tf.shape(batch[name])[0], rows, few)]
                    ):
                        value = tf.cast(batch[name][:rows], part.dtype)
                    parts[name] = tf.reshape(value, (replicas,) + part.shape)
                else:
                    value = tf.cast(batch[name], part.dtype) if name in batch else tf.constant(part)
                    parts[name] = tf.repeat(value[tf.newaxis], replicas, 0)
            return parts

        return self._dataset().repeat().skip(step).map(cut).unbatch()


def source_from_text(text: str, settings: Mapping[str, Any]) -> Callable[[Job], Source]:
    """Returns the function from a job to its source that `--data` stands for.

    Args:
      text: path of an .npz file, whose arrays are taken in order, again and again; or module:function of a function
        that is called with the global batch and returns a dataset of {input name: tensor [global batch, ...]}, which is
        started again where it ends.
      settings: {input name: value} of scalars that the data do not have.

    Returns:
      The function.

    Raises:
      InputError: there is no such file or function.
    """
    if ":" in text and not os.path.exists(text):
        make_dataset = _import_function(text)
        return lambda job: LiftedDataset(job, make_dataset, settings, f"--data={text}")
    packed = require_regular(text, "--data")
    archive = ArrayArchive(text, f"--data: cannot read {text!r} as .npz", max(MOST_BYTES, MOST_EXPANSION * packed))
    arrays = {name: archive.array(name) for name in archive.names}
    archive.close()
    lengths = {array.shape[:1] for array in arrays.values()}
    require(len(lengths) == 1 and () not in lengths, "--data", text, "arrays must have equal lengths")
    return lambda job: LiftedData(job, _batches_of(arrays, job.global_batch), settings)


def _batches_of(arrays: Arrays, size: int) -> Callable[[int], Arrays]:
    """Returns the function from a step to the next `size` rows of the arrays."""
    count = len(next(iter(arrays.values())))
    require(count >= size, "--data", f"{count} examples", f"fewer than --global_batch={size}")

    def batch(step: int) -> Arrays:
        rows = np.arange(step * size, (step + 1) * size) % count
        return {name: array[rows] for name, array in arrays.items()}

    return batch


def _import_function(text: str) -> Callable[[int], tf.data.Dataset]:
    module_name, _, attribute = text.partition(":")
    module = user_modules.import_users_module(module_name, f"--data: {text!r}")
    function: Callable[[int], tf.data.Dataset] | None = getattr(module, attribute, None)
    if function is None:
        raise InputError(f"--data: {text!r}: module {module_name!r} has no attribute {attribute!r}")
    require(callable(function), "--data", text, "must name a function that takes the global batch")
    return function
