"""Batches for a lifted program: made up within the bounds that its graph shows, from arrays, or from a pipeline."""

from __future__ import annotations

import importlib
import os
import sys

import numpy as np
import tensorflow as tf

from workloads.numerics import random_keys
from workloads.sources import Source
from workloads.support.errors import InputError, require

#: Size of a dimension that the graph leaves open and that is not the batch: of images (rank 4), and of anything else.
OPEN_IMAGE, OPEN = 64, 6


class LiftedSynthetic(Source):
    """Made-up examples: floats uniform in [0, 1), integers uniform below what labels and embeddings allow.

    Args:
      job: the `Job`.
      settings: {input name: value} of scalars that are not to be made up.
    """

    def __init__(self, job, settings=None):
        super().__init__(job)
        self._settings = settings or {}

    def batch(self, step):
        """Batches of a lift are made a replica at a time; see `shards`."""
        raise NotImplementedError("LiftedSynthetic.batch")

    def shards(self, step):
        workload, replicas = self._job.workload, self._job.replicas
        shards = [{} for _ in range(replicas)]
        for name, entry in sorted(workload.inputs().items()):
            alone = entry.kind in ("same", "setting")
            for replica in range(replicas):
                rng = random_keys.generator(
                    "lifted", self._job.seed, workload.name, step, name, 0 if alone else replica
                )
                shards[replica][name] = self._draw(entry, rng)
        return shards

    def _draw(self, entry, rng):
        if entry.name in self._settings:
            return np.array(self._settings[entry.name]).astype(entry.dtype)
        shape = self._shape(entry)
        if entry.dtype == "bool":
            return np.asarray(rng.randint(0, 2, shape), bool) if shape else np.array(True)
        if entry.dtype.startswith(("int", "uint")):
            return np.asarray(rng.randint(0, entry.limit or 2, shape)).astype(entry.dtype)
        require(
            entry.dtype.startswith(("float", "double", "half", "bfloat")),
            "--data",
            None,
            f"input {entry.name!r} is of {entry.dtype}, which cannot be made up; give data",
        )
        return np.asarray(rng.random_sample(shape)).astype(entry.dtype)

    def _shape(self, entry):
        if entry.kind == "setting" or entry.shape is None:
            return ()
        first = self._job.per_replica_batch * (self._job.replicas if entry.kind == "same" else 1)
        open_ = OPEN_IMAGE if len(entry.shape) == 4 else OPEN
        return tuple((first if i == 0 else open_) if size is None else size for i, size in enumerate(entry.shape))


class LiftedResident(LiftedSynthetic):
    """The first made-up batch, at every step."""

    fixed = True

    def shards(self, step):
        return super().shards(0)


class LiftedData(LiftedSynthetic):
    """The user's own global batches, cut into one contiguous part a replica.

    Args:
      job: the `Job`.
      next_batch: function from a step to {input name: array [global batch, ...]}.
      settings: {input name: value} of scalars that the data do not have.
    """

    def __init__(self, job, next_batch, settings):
        super().__init__(job, settings)
        self._next = next_batch
        self._drawn = (-1, None)

    def shards(self, step):
        drawn = self._drawn
        if drawn[0] != step:
            drawn = self._drawn = (step, self._cut(self._next(step)))
        return drawn[1]

    def _cut(self, batch):
        replicas, size = self._job.replicas, self._job.per_replica_batch
        shards = [{} for _ in range(replicas)]
        for name, entry in self._job.workload.inputs().items():
            value = batch.get(name, self._settings.get(name))
            have = ", ".join(sorted(batch)) or "nothing"
            require(value is not None, "--data", have, f"it must have {name!r}: {entry.dtype} {entry.shape}")
            value = np.asarray(value).astype(entry.dtype)
            for replica in range(replicas):
                part = value
                if entry.kind in ("batch", "whole"):
                    rows = size if entry.kind == "batch" else len(value) // replicas
                    part = value[replica * rows : (replica + 1) * rows]
                    require(
                        len(part) == rows,
                        "--data",
                        value.shape,
                        f"{name!r} has too few rows for --global_batch={self._job.global_batch}",
                    )
                shards[replica][name] = part
        return shards


def from_text(text, settings):
    """Function from a job to its `Source`, for `--data`: an .npz file, or module:function for a `tf.data.Dataset`.

    A file's arrays are taken in order, again and again. The function is called with the global batch and gives a
    dataset of {input name: tensor [global batch, ...]}, which is started again where it ends.

    Raises:
      InputError: there is no such file or function.
    """
    if ":" in text and not os.path.exists(text):
        make_dataset = _function(text)
        return lambda job: LiftedDataset(job, make_dataset, settings)
    try:
        with np.load(text) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError) as error:
        raise InputError(f"--data: cannot read {text!r} as .npz: {error}")
    require(arrays and len({len(a) for a in arrays.values()}) == 1, "--data", text, "arrays must have equal lengths")
    return lambda job: LiftedData(job, _from_arrays(arrays, job.global_batch), settings)


def _from_arrays(arrays, size):
    count = len(next(iter(arrays.values())))
    require(count >= size, "--data", f"{count} examples", f"fewer than --global_batch={size}")

    def batch(step):
        rows = np.arange(step * size, (step + 1) * size) % count
        return {name: array[rows] for name, array in arrays.items()}

    return batch


class LiftedDataset(LiftedData):
    """The user's own `tf.data` pipeline of global batches.

    Args:
      job: the `Job`.
      make_dataset: function from the global batch to a `tf.data.Dataset` of {input name: tensor [global batch, ...]}.
      settings: see `LiftedData`.
    """

    has_pipeline = True

    def __init__(self, job, make_dataset, settings):
        self._make = make_dataset
        self._iterator = self._endless()
        super().__init__(job, lambda step: next(self._iterator), settings)

    def _endless(self):
        """Opened when the first batch is asked for: before, the devices may not have been chosen."""
        dataset = self._make(self._job.global_batch)
        while True:
            yield from dataset.as_numpy_iterator()

    def pipeline(self, step):
        """A `tf.data.Dataset` of one replica's batch after the other, from `step` on, cut by TensorFlow itself.

        A pipeline must not be read from inside another one's Python: the two can wait for each other for good.
        """
        replicas = self._job.replicas
        like = self.shards(0)  # which also tells what the user's batches lack
        kinds = {name: entry.kind for name, entry in self._job.workload.inputs().items()}

        def cut(batch):
            parts = {}
            for name, part in like[0].items():
                if name in batch and kinds[name] in ("batch", "whole"):
                    value = tf.cast(batch[name][: replicas * len(part)], part.dtype)
                    parts[name] = tf.reshape(value, (replicas,) + part.shape)
                else:
                    value = tf.cast(batch[name], part.dtype) if name in batch else tf.constant(part)
                    parts[name] = tf.repeat(value[tf.newaxis], replicas, 0)
            return parts

        return self._make(self._job.global_batch).repeat().skip(step).map(cut).unbatch()


def _function(text):
    module_name, _, attribute = text.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        return getattr(importlib.import_module(module_name), attribute)
    except Exception as error:  # whatever the user's module raises while it is imported
        raise InputError(f"--data: {text!r}: {type(error).__name__}: {error}")
