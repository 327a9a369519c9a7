"""`OwnData`: the user's own data for a native workload."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from workloads import example_checks
from workloads.data.batches import Request, Wanted
from workloads.data.epochs import Order
from workloads.sources import GlobalBatches

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workloads.data.batches import Data
    from workloads.job import Job
    from workloads.program import Arrays
    from workloads.workload import InputSpec


class OwnData(GlobalBatches):
    """The user's own examples, in the order that the workload and the seed say.

    Args:
      job: the `Job`, not of a lifted workload.
      data: the opened data.
      shuffle: whether each epoch has an order of its own.

    Raises:
      InputError: the data are not what the workload's inputs say.
    """

    def __init__(self, job: Job, data: Data, shuffle: bool = True) -> None:
        super().__init__(job)
        self._batches = data.batches(request_of(job, shuffle))

    @property
    def is_read_in_order(self) -> bool:
        return self._batches.is_read_in_order

    def ends(self) -> tuple[int, ...]:
        return self._batches.ends()

    def steps(self, epochs: int) -> int | None:
        return self._batches.steps(epochs)

    def _examples(self, step: int) -> Arrays:
        return self._batches.batch(step)


def request_of(job: Job, shuffle: bool) -> Request:
    """Returns the inputs, their order and their checks that a job of a native workload requests from data."""
    inputs = job.workload.inputs()
    wanted = {}
    for name, spec in inputs.items():
        kind = f"whole numbers below {spec.classes}" if spec.kind == "int" and spec.classes else spec.kind
        wanted[name] = Wanted(len(spec.shape), f"{kind} {tuple(spec.shape)}")
    order = Order(job.global_batch, job.seed, shuffle, job.workload.last_batch)
    return Request(order, wanted, functools.partial(_checked, inputs))


def _checked(inputs: Mapping[str, InputSpec], what: str, arrays: Arrays, count: int) -> Arrays:
    return example_checks.checked_arrays(what, inputs, arrays, count)
