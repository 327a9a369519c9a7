"""Faulty batches: changes of a source's batches, step by step, and other examples."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from parity.causes.basics import injection
from workloads import sources
from workloads.job import Job
from workloads.program import Arrays

#: Function from a step to each replica's batch, as `Source.shards`.
Shards = Callable[[int], list[Arrays]]


def change_shards(name: str, change: Callable[[Shards, Job, int], list[Arrays]]) -> injection.Change:
    """Returns a change of the port's source.

    Args:
      name: name of the changed source, for reports.
      change: function from the original `shards`, the job and the step to each replica's batch.

    Returns:
      The `Change`.
    """

    def wrap(original: Callable[[Job], sources.Source]) -> Callable[[Job], sources.Source]:
        def make_source(job: Job) -> sources.Source:
            source = original(job)
            shards = source.shards
            source.shards = lambda step: change(shards, job, step)  # type: ignore[method-assign]  # only this instance
            return source

        make_source.__name__ = name
        return make_source

    return injection.in_source(wrap)


def interleaved(shards: Shards, job: Job, step: int) -> list[Arrays]:
    """Deals the examples of the global batch to the replicas in turn, as a `change` of `change_shards`.

    Args:
      shards: the original batches.
      job: of the port.
      step: number of the step.

    Returns:
      for each of the N replicas, every N-th example.
    """
    parts = shards(step)
    whole = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return [{name: value[i :: job.replicas] for name, value in whole.items()} for i in range(job.replicas)]


class OtherExamples(sources.Synthetic):
    """Synthetic examples of a thousand steps later."""

    def _examples(self, step: int) -> Mapping[str, np.ndarray]:
        return super()._examples(step + 1000)
