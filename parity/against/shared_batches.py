"""The same batches for an old graph and for a workload: in the old graph's terms, and in the workload's."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from workloads.job import Job
from workloads.program import Arrays
from workloads.sources import Source
from workloads.support.errors import InputError


class OldGraphBatches(Source):
    """A lift's batches with float64 inputs rounded to float32, as a workload gets them.

    Args:
      job: of the lift.
      source: the lift's batches.
    """

    def __init__(self, job: Job, source: Source) -> None:
        super().__init__(job)
        self._source = source
        self.fixed, self.shared = source.fixed, source.shared
        self._latest: tuple[int, list[Arrays]] | None = None

    @property
    def is_read_in_order(self) -> bool:
        return self._source.is_read_in_order

    def shards(self, step: int) -> list[Arrays]:
        if self._latest is None or self._latest[0] != step:
            parts = self._source.shards(step)
            self._latest = step, [{name: _rounded(value) for name, value in part.items()} for part in parts]
        return self._latest[1]

    def shapes(self) -> dict[str, tuple[int | None, ...]]:
        return self._source.shapes()


class PortBatches(Source):
    """The same batches under the port's names and in its dtypes.

    Args:
      job: of the port.
      source: the old graph's batches.
      names: {input of the port: input of the old graph}.
      copied: inputs of the port that are no batches in the old graph; each example has a copy.
    """

    def __init__(self, job: Job, source: Source, names: Mapping[str, str], copied: Collection[str] = ()) -> None:
        super().__init__(job)
        self._source, self._names, self.copied = source, names, copied
        self._specs = job.workload.inputs()
        self.fixed = source.fixed
        self.shared = [name for name, old in names.items() if old in source.shared]

    @property
    def is_read_in_order(self) -> bool:
        return self._source.is_read_in_order

    def shards(self, step: int) -> list[Arrays]:
        return [
            {name: self._converted(name, part[old]) for name, old in self._names.items()}
            for part in self._source.shards(step)
        ]

    def shapes(self) -> dict[str, tuple[int | None, ...]]:
        found, old = super().shapes(), self._source.shapes()
        return {name: own if name in self.copied else old[self._names[name]] for name, own in found.items()}

    def _converted(self, name: str, value: np.ndarray) -> np.ndarray:
        """Returns an input in the port's dtype; whole numbers must fit into it."""
        dtype = self._specs[name].dtype(self._job.dtype)
        if name in self.copied:
            value = np.stack([value] * self._job.per_replica_batch)
        converted = np.asarray(value, dtype)
        if dtype.kind == "i" and not np.array_equal(converted, value):
            raise InputError(f"--data: {name!r} holds {np.abs(value).max()}, more than a workload's int32 inputs")
        return converted


def _rounded(value: np.ndarray) -> np.ndarray:
    return value.astype(np.float32).astype(value.dtype) if value.dtype == np.float64 else value
