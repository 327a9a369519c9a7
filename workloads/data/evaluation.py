"""Examples that a workload's metrics are measured on: the user's own, or made-up ones."""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING, Optional

import numpy as np

from workloads.data.function import FunctionData
from workloads.data.opening import open_data
from workloads.data.own_data import request_of
from workloads.support.errors import require

if TYPE_CHECKING:
    from workloads.data.batches import Batches, Data
    from workloads.job import Job


def own_examples(job: Job, text: str, parser: Optional[str] = None) -> Batches:
    """Returns the examples that `--eval_data` names, in their order.

    Args:
      job: the `Job`.
      text: as for `--data`.
      parser: `--parser`, which is for TFRecord files alone; or None.

    Returns:
      the examples, of which the last batch is filled up.

    Raises:
      InputError: the workload has no metrics, or the data cannot be used.
    """
    allowed = f"workload {job.workload.name!r} defines no metrics"
    if job.workload.is_lifted:
        allowed = "a lift has no metrics: `legacy.lift --source=port.py` writes its source, to which they can be added"
    defines = not job.workload.is_lifted and job.workload.has_metrics
    require(defines, "--eval_data", text, allowed)
    of_records = not text.endswith(".npz") and (":" not in text or os.path.exists(text))
    return _batches(job, open_data(text, parser if of_records else None, "--eval_data"))


def made_up_examples(job: Job) -> Batches:
    """Returns one full batch of synthetic examples, and one that lacks an example, which no replicas divide."""
    workload, rng = job.workload, np.random.RandomState(job.seed)
    arrays = workload.examples(rng, 2 * job.global_batch - 1)
    return _batches(job, FunctionData(f"{workload.name}.examples", lambda _: dict(arrays)))


def _batches(job: Job, data: Data) -> Batches:
    request = request_of(job, shuffle=False)
    order = dataclasses.replace(request.order, last_batch="fill", may_repeat=True)
    return data.batches(request._replace(order=order))
