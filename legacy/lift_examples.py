"""A part of the old program's own data, for `legacy.lift`: of `--data`, or of the recording beside the graph."""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING

import numpy as np

from legacy.rerun.recorded_source import RecordedSource
from legacy.rerun.recording import RecordedSteps
from legacy.saved.runs.recording_folder import recording_beside
from workloads.data.opening import open_data
from workloads.job import Job
from workloads.lifted.plan.settings import fed_learning_rates, keep_settings, scalar_inputs
from workloads.lifted.sources import LiftedOwnData
from workloads.lifted.workload import LiftedWorkload
from workloads.support.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from legacy.saved.analysis.analyse import Analysis
    from workloads.lifted.plan import Input, Plan
    from workloads.program import Arrays
    from workloads.sources import Source


#: The most steps and bytes that are read.
MOST_STEPS, MOST_BYTES = 8, 32 << 20


class DataOfProgram:
    """Sizes, bounds, settings and batches that `legacy.lift` takes from the old program's own data.

    Args:
      graph: path of the graph file; a recording beside it is taken where no data are given.
      data: the folder of a recording; or an .npz file or module:function, see `open_data`; None to look beside `graph`.
      given: {scalar input: text of its value}, as the user gave them.

    Attributes:
      settings: {scalar input: text of its value} of those that a recording has one value for.
    """

    def __init__(self, graph: str, data: str | None, given: Mapping[str, str]) -> None:
        self._data, self._is_given = data or recording_beside(graph), data is not None
        self._given = given
        self._batches: Sequence[Arrays] = ()
        self._problem = ""
        self.settings: Mapping[str, str] = {}

    def enter(self, found: Analysis) -> Sequence[Arrays]:
        """Enters what the data tell into an analysis' plan: sizes and bounds of made-up data, values of scalar inputs.

        A learning rate stays open, since it was fed so that it could change, and comparisons draw another one in each
        step; its recorded value is assumed where one is needed.

        Args:
          found: the analysis of the old graph; its plan is changed.

        Returns:
          {input: array} of each tower in one step after the other.

        Raises:
          InputError: the given data are not what the graph's inputs say. Of a recording that was only found beside the
            graph, `notes` says so.
        """
        if self._data is None:
            return ()
        try:
            self._batches, self.settings = read_examples(found, self._data, self._given)
        except InputError as error:
            if self._is_given:
                raise
            self._problem = str(error)
            return ()
        plan = found.plan
        keep_sizes(plan.inputs + plan.common, self._batches)
        rates = fed_learning_rates(plan)
        open_scalars = [entry for entry in scalar_inputs(plan) if not entry.value and entry.name in self.settings]
        keep_settings(
            plan, {entry.name: self.settings[entry.name] for entry in open_scalars if entry.name not in rates}
        )
        for entry in open_scalars:
            entry.recorded = self.settings[entry.name] if entry.name in rates else ""
        return self._batches

    def examples(self, plan: Plan) -> Sequence[Arrays]:
        """Returns each tower's batch to prove a source with; () where made-up numbers prove it.

        A source has the sizes of the first batch where the graph leaves them open, as the length of sentences: the
        batches have these sizes, and some come again where too few do. It has one value of each scalar, too.
        """
        if not (self._is_given or plan.own_batches):
            return ()
        alike = [batch for batch in self._batches if _has_sizes(plan.inputs + plan.common, batch)]
        scalars = [entry.name for entry in scalar_inputs(plan)]
        alike = [batch for batch in alike if all(np.array_equal(batch[name], alike[0][name]) for name in scalars)]
        return list(itertools.islice(itertools.cycle(alike), plan.towers))

    def notes(self, plan: Plan) -> list[str]:
        """Returns what the lift took from the data, as lines for the user."""
        if self._problem:
            return [f"the recording beside the graph is not used: {self._problem}"]
        found = []
        if plan.own_batches:
            found.append("made-up batches do not run in this graph: the lift keeps batches of the program's own data")
        taken = [f"{name}={text}" for name, text in self.settings.items() if name not in self._given]
        return found + ([f"settings of the recording: {', '.join(taken)}"] if taken else [])


def read_examples(found: Analysis, data: str, settings: Mapping[str, str]) -> tuple[list[Arrays], dict[str, str]]:
    """Reads the first batches of data.

    Args:
      found: the analysis of the old graph.
      data: the folder of a recording; or an .npz file or module:function, see `open_data`.
      settings: {scalar input: text of its value} of those that the data do not have.

    Returns:
      {input: array} of each tower in one step after the other, scalars included; and the values of those scalars that
      every step of a recording has alike.

    Raises:
      InputError: the data are not what the graph's inputs say.
    """
    plan = found.plan
    # What the old program joins to a batch is known to run in the graph, which may hold that number further inside.
    size = min(plan.global_batch, plan.usual_global_batch)
    workload = LiftedWorkload(name=plan.name, global_batch=size, plan=plan, graph=found.cut.graph)
    job = Job(workload, plan.towers, size)
    source: Source
    if os.path.isdir(data):
        recording = RecordedSteps(data, plan)
        source, steps = RecordedSource(job, recording), len(recording)
    else:
        source = LiftedOwnData(job, open_data(data), {name: float(text) for name, text in settings.items()}, False)
        steps = source.steps(1) or 1
    names = [entry.name for entry in plan.inputs + plan.common]
    batches: list[Arrays] = []
    for step in range(min(steps, MOST_STEPS)):
        batches += [{name: shard[name] for name in names} for shard in source.shards(step)]
        size = sum(np.asarray(value).nbytes for batch in batches for value in batch.values())
        if size * (step + 2) > MOST_BYTES * (step + 1):
            break
    return batches, _constant_scalars(plan, batches) if os.path.isdir(data) else {}


def _constant_scalars(plan: Plan, batches: Sequence[Arrays]) -> dict[str, str]:
    """Returns {scalar input: text of its value} of those numbers that all batches have alike."""
    names = [entry.name for entry in scalar_inputs(plan) if entry.dtype != "bool"]
    seen = {name: {str(batch[name]) for batch in batches} for name in names if batches[0][name].shape == ()}
    return {name: texts.pop() for name, texts in seen.items() if len(texts) == 1}


def _has_sizes(entries: Sequence[Input], batch: Arrays) -> bool:
    """Whether a batch has the sizes that `keep_sizes` entered."""
    sized = [entry for entry in entries if entry.example and not entry.sparse]
    return all(list(np.shape(batch[entry.name]))[1:] == list(entry.example[1:]) for entry in sized)


def keep_sizes(entries: Sequence[Input], examples: Sequence[Arrays]) -> None:
    """Makes the sizes and bounds of examples those of made-up data, where the graph leaves them open.

    An input of unknown rank has the rank of the examples. It is no batch where it never has as many rows as one.

    Args:
      entries: the inputs; changed.
      examples: batches.
    """
    for entry in [entry for entry in entries if entry.shape is None and entry.kind == "batch"]:
        _enter_rank(entry, [other for other in entries if other.kind == "batch" and other.shape], examples)
    for entry in [entry for entry in entries if entry.kind != "setting" and not entry.sparse]:
        arrays = [np.asarray(batch[entry.name]) for batch in examples]
        shape = list(entry.shape) if entry.shape is not None else [None] * arrays[0].ndim
        if None in shape[1:]:
            entry.example = [shape[0], *map(int, arrays[0].shape[1:])]
        if entry.dtype.startswith("int") and all(array.size for array in arrays):
            least = min(int(array.min()) for array in arrays)
            entry.low = least if least < 0 or not entry.limit else entry.low
            entry.limit = entry.limit or 1 + max(int(array.max()) for array in arrays)


def _enter_rank(entry: Input, others: Sequence[Input], examples: Sequence[Arrays]) -> None:
    """Makes the rank of examples that of an input, and of one that never has the rows of `others` a part of one size.

    Args:
      entry: the input, of unknown rank; changed.
      others: inputs of known rank, which are batches.
      examples: batches.
    """
    shapes = {np.shape(batch[entry.name]) for batch in examples}
    rows = [
        (np.shape(batch[entry.name])[:1], np.shape(batch[other.name])[:1]) for batch in examples for other in others
    ]
    if all(own == other for own, other in rows) and len({len(shape) for shape in shapes}) == 1:
        entry.shape = [None] * len(next(iter(shapes)))
    elif all(own != other for own, other in rows) and len(shapes) == 1:
        entry.kind, entry.shape = "whole", list(next(iter(shapes)))
