"""Sources of batches. A source is asked for a step's batch and always gives the same answer."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING

import numpy as np

from workloads import example_checks
from workloads.numerics import random_keys
from workloads.support.user import user_code

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import tensorflow as tf

    from workloads.job import Job
    from workloads.program import Arrays


class Source(abc.ABC):
    """Batches for the replicas of a job, as a pure function of the step.

    Attributes:
      fixed: whether every step gets the same batch.
      copied: inputs whose rows are copies of one value, as an old graph takes them whole; empty but for its ports.
      made_up_scalars: scalar inputs whose values are made up, though a program knows them; see `--settings`.
      shared: inputs that every replica gets whole, as an old graph gives them to all of its towers.
    """

    fixed = False
    copied: Collection[str] = ()
    shared: Collection[str] = ()
    made_up_scalars: Collection[str] = ()
    #: Random numbers of a lifted graph: "keyed", or "drawn" if the batches bring them.
    noise = "keyed"

    def __init__(self, job: Job) -> None:
        self._job = job

    @property
    def has_pipeline(self) -> bool:
        """Whether `pipeline` can be called; its batches then need not come from Python one by one."""
        return False

    @property
    def is_read_in_order(self) -> bool:
        """Whether the batches before a step must be read to have that step's."""
        return False

    @abc.abstractmethod
    def shards(self, step: int) -> list[Arrays]:
        """Returns each replica's {input name: array [per-replica batch, *shape]}, in the run's dtype."""

    def shapes(self) -> dict[str, tuple[int | None, ...]]:
        """Returns {input name: shape of a replica's array}, with None for sizes that differ by step or replica."""
        return {name: np.shape(value) for name, value in self.shards(0)[0].items()}

    def batch(self, step: int) -> Arrays:
        """Returns {input name: array [global batch, *shape]} in the run's dtype: all replicas' shards, joined."""
        shards = self.shards(step)
        return {name: np.concatenate([part[name] for part in shards]) for name in shards[0]}

    def ends(self) -> tuple[int, ...]:
        """Returns the first steps in which the data end and begin anew, such as an epoch's last; none if never."""
        return ()

    def steps(self, epochs: int) -> int | None:
        """Returns the number of steps in so many passes over the data; None where they have no known end."""
        return None

    def pipeline(self, step: int) -> tf.data.Dataset:
        """Returns a `tf.data.Dataset` of one replica's batch after the other, from `step` on, if `has_pipeline`."""
        raise NotImplementedError(f"{type(self).__name__}.pipeline")


class GlobalBatches(Source):
    """A source that makes the examples of all replicas together; subclasses say how in `_examples`."""

    def batch(self, step: int) -> Arrays:
        return in_run_dtype(self._job, self._examples(step))

    def shards(self, step: int) -> list[Arrays]:
        return shard(self.batch(step), self._job.replicas)

    @abc.abstractmethod
    def _examples(self, step: int) -> Mapping[str, np.ndarray]:
        """Returns {input name: array [global batch, *shape]} in any dtype."""


def in_run_dtype(job: Job, examples: Mapping[str, np.ndarray]) -> Arrays:
    """Returns the inputs of a job's workload in the dtypes that the run gives them."""
    # Through float32 whatever the run's dtype, so that a float64 run sees the very same numbers.
    return {
        name: np.asarray(np.asarray(examples[name], spec.dtype("float32")), spec.dtype(job.dtype))
        for name, spec in job.workload.inputs().items()
    }


def shard(batch: Arrays, replicas: int) -> list[Arrays]:
    """Cuts a global batch into `replicas` contiguous parts of one size.

    >>> [part["x"].tolist() for part in shard({"x": np.arange(4)}, 2)]
    [[0, 1], [2, 3]]
    """
    size = len(next(iter(batch.values()), ())) // replicas
    return [{name: value[i * size : (i + 1) * size] for name, value in batch.items()} for i in range(replicas)]


class Synthetic(GlobalBatches):
    """The workload's own made-up examples, new at every step."""

    def _examples(self, step: int) -> Mapping[str, np.ndarray]:
        workload, count = self._job.workload, self._job.global_batch
        rng = random_keys.generator("batch", self._job.seed, workload.name, step)
        with user_code.calling(f"{workload.name}.examples", workload.examples, f"{count} examples"):
            examples = workload.examples(rng, count)
        if not example_checks.overrides_examples(workload):
            return examples
        return example_checks.checked_examples(workload, examples, count)


class Resident(Synthetic):
    """The first synthetic batch, at every step: input that costs nothing, for measuring the step alone."""

    fixed = True
    _first: Arrays | None = None

    def batch(self, step: int) -> Arrays:
        if self._first is None:
            self._first = super().batch(0)
        return self._first
