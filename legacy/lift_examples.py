"""Each tower's first batch of the old program's own data, for `legacy.lift --data`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from legacy.rerun.recorded_source import RecordedSource
from legacy.rerun.recording import RecordedSteps
from workloads.data.opening import open_data
from workloads.job import Job
from workloads.lifted.sources import LiftedOwnData
from workloads.lifted.workload import LiftedWorkload

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from legacy.saved.analysis.analyse import Analysis
    from workloads.lifted.plan import Input
    from workloads.program import Arrays
    from workloads.sources import Source


def read_examples(found: Analysis, data: str, settings: Mapping[str, str]) -> list[Arrays]:
    """Reads each tower's first batch.

    Args:
      found: the analysis of the old graph.
      data: the folder of a recording; or an .npz file or module:function, see `open_data`.
      settings: {scalar input: text of its value} of those that the data do not have.

    Returns:
      {input: array} of each tower, scalars included.

    Raises:
      InputError: the data are not what the graph's inputs say.
    """
    plan = found.plan
    workload = LiftedWorkload(name=plan.name, global_batch=plan.global_batch, plan=plan, graph=found.cut.graph)
    job = Job(workload, plan.towers)
    source: Source
    if os.path.isdir(data):
        source = RecordedSource(job, RecordedSteps(data, plan))
    else:
        source = LiftedOwnData(job, open_data(data), {name: float(text) for name, text in settings.items()}, False)
    names = [entry.name for entry in plan.inputs + plan.common]
    return [{name: shard[name] for name in names} for shard in source.shards(0)]


def keep_sizes(entries: Sequence[Input], examples: Sequence[Arrays]) -> None:
    """Makes the sizes and bounds of examples those of made-up data, where the graph leaves them open.

    Args:
      entries: the inputs; changed.
      examples: each tower's batch.
    """
    for entry in [entry for entry in entries if entry.kind != "setting" and not entry.sparse]:
        arrays = [np.asarray(batch[entry.name]) for batch in examples]
        shape = list(entry.shape) if entry.shape is not None else [None] * arrays[0].ndim
        if None in shape[1:]:
            entry.example = [shape[0], *map(int, arrays[0].shape[1:])]
        if entry.dtype.startswith("int") and all(array.size for array in arrays):
            entry.low = min(int(array.min()) for array in arrays)
            entry.limit = entry.limit or 1 + max(int(array.max()) for array in arrays)
