"""Shapes of a job without its numbers: batches that take no memory, and the size of the weights."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from parity.comparison.setup import Setup
from workloads import tracing
from workloads.job import Job
from workloads.lifted.workload import as_lifted
from workloads.sources import GlobalBatches, Source


class ShapesOnly(GlobalBatches):
    """Batches of zeros that take no memory, for programs that are built and not run."""

    @property
    def has_pipeline(self) -> bool:
        return True

    def _examples(self, step: int) -> Mapping[str, np.ndarray]:
        count = self._job.global_batch
        specs = self._job.workload.inputs()
        return {
            name: np.broadcast_to(np.zeros((), spec.dtype(self._job.dtype)), (count, *spec.shape))
            for name, spec in specs.items()
        }

    def batch(self, step: int) -> dict[str, np.ndarray]:
        return dict(self._examples(step))


def shapes_source(setup: Setup) -> Source:
    """Returns a source of a setup's shapes; a lift's own source, which knows its noise."""
    return setup.make_source(setup.job) if setup.job.workload.is_lifted else ShapesOnly(setup.job)


def parameter_bytes(job: Job) -> float:
    """Returns the bytes of a job's trainable weights."""
    if job.workload.is_lifted:
        weights = as_lifted(job.workload).initial_state().weights
        return float(sum(value.nbytes for value in weights.values()))
    specs = tracing.trace(job.workload, job.per_replica_batch, job.dtype)
    return float(sum(np.prod(spec.shape) * np.dtype(job.dtype).itemsize for spec in specs if spec.trainable))
