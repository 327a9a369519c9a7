"""Runs the towers of a plan once on made-up data, and reports the outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from legacy.towers.program import session_config
from workloads.lifted.graph import Graph
from workloads.lifted.graph.importing import import_graph
from workloads.lifted.made_up_data import BatchSize, made_up_sparse_tensor, made_up_values, sparse_groups, tie_parts
from workloads.lifted.pieces.piece import VariableVersion
from workloads.lifted.plan import Input, Plan
from workloads.lifted.workload import LiftedWorkload
from workloads.program import Arrays
from workloads.support.errors import InputError

v1 = tf.compat.v1


class TrialOutcome(NamedTuple):
    """Outcome of one run.

    Attributes:
      message: the error's, or empty.
      finite: whether all losses and gradients are finite.
      trains: whether each tower has a gradient that is not zero.
    """

    message: str
    finite: bool = False
    trains: bool = False

    @property
    def is_good(self) -> bool:
        """Whether the run can be compared with another one and shows anything."""
        return not self.message and self.finite and self.trains


class TrialRunner:
    """Runs the towers of a plan on made-up data: all losses and gradients of all train ops.

    Args:
      plan: the plan.
      graph: the subgraph that a step runs.
      start: {variable: initial value}.
    """

    def __init__(self, plan: Plan, graph: Graph, start: Mapping[str, np.ndarray]) -> None:
        self._plan = plan
        self._towers = [
            [name for phase in plan.phases for name in (phase.gradients[tower] if phase.gradients else {}).values()]
            for tower in range(plan.towers)
        ]
        self._losses = [name for phase in plan.phases for name in phase.losses]
        fetches = list(dict.fromkeys(self._losses + [name for tower in self._towers for name in tower]))
        entries = plan.inputs + plan.common
        cutter = LiftedWorkload(plan.name, plan=plan, graph=graph).cutter({})
        cuts = {tensor for entry in entries for tensor in entry.tensors}
        self._assertions = assertions_of(graph, [phase.train_op for phase in plan.phases])
        asserted = [tensor for assertion in self._assertions for tensor in assertion]
        try:
            piece = cutter.piece([*fetches, *asserted], cuts)
        except KeyError:  # an assertion looks at a tensor that is not of the step's computation
            piece, asserted, self._assertions = cutter.piece(fetches, cuts), [], []
        with tf.Graph().as_default() as imported:
            tensors = import_graph(piece.graph_def, fetches=piece.fetches, subject="graph file")
            self._tensors = dict(zip([*fetches, *asserted], tensors))
        self._session = v1.Session(graph=imported, config=session_config(["CPU:0"], True))
        self._holders: dict[str, Any] = {}
        self._fixed: dict[Any, np.ndarray] = {}
        for feed in piece.feeds:
            holder = imported.get_tensor_by_name(feed.placeholder + ":0")
            if isinstance(feed.key, VariableVersion):
                self._fixed[holder] = np.asarray(start[feed.key.variable])
            elif feed.kind == "noise":
                self._fixed[holder] = np.array([1, 2], np.int32)
            else:
                self._holders[feed.key] = holder

    def run(self, entries: Sequence[Input], batch: int, seed: int) -> TrialOutcome:
        """Runs once.

        Args:
          entries: the inputs, with ranks and ranges of their made-up values.
          batch: number of a tower's examples.
          seed: of the values.

        Returns:
          the outcome, with the message if the run failed.
        """
        size = BatchSize(batch, self._plan.towers)
        try:
            shards = [_made_up(entries, size, seed * self._plan.towers + k) for k in range(self._plan.towers)]
            tie_parts(entries, shards)
        except (ValueError, InputError) as error:
            return TrialOutcome(str(error))
        return self.run_batches(entries, shards)

    def run_batches(self, entries: Sequence[Input], shards: Sequence[Arrays]) -> TrialOutcome:
        """Runs once on given data.

        Args:
          entries: the inputs.
          shards: {input: array} of each tower.

        Returns:
          the outcome, with the message if the run failed.
        """
        feed = dict(self._fixed)
        try:
            for tower, values in enumerate(shards):
                for entry in entries:
                    tensor = entry.tensors[tower] if len(entry.tensors) > 1 else entry.tensors[0]
                    if tensor in self._holders:
                        feed[self._holders[tensor]] = values[entry.name]
            results = self._session.run(self._tensors, feed)
        except (tf.errors.OpError, ValueError, InputError) as error:
            return TrialOutcome(getattr(error, "message", None) or str(error))
        for condition, *shown in self._assertions:
            if not np.all(results[condition]):
                return TrialOutcome("assertion failed: " + ", ".join(str(results[tensor]) for tensor in shown))
        computed = {name for tower in self._towers for name in tower} | set(self._losses)
        finite = all(np.isfinite(np.asarray(results[name], np.float64)).all() for name in computed)
        trains = all(any(np.any(results[name]) for name in tower) for tower in self._towers if tower)
        return TrialOutcome("", finite, trains and any(self._towers))


def assertions_of(graph: Graph, train_ops: Sequence[str]) -> list[list[str]]:
    """Returns the assertions that a step makes outside of loops, such as that a length is the longest one.

    Args:
      graph: the subgraph that a step runs.
      train_ops: names of the train ops.

    Returns:
      For each assertion, names of its condition and of the numbers that it shows.
    """
    frames = graph.frames()
    found = []
    for name in sorted(graph.ancestors(train_ops)):
        if graph.type(name) != "Assert" or name in frames:
            continue
        types = graph.nodes[name].attr["T"].list.type
        condition, *shown = [graph.before_branches(tensor) for tensor in graph.inputs(name)]
        numbers = [tensor for tensor, kind in zip(shown, types) if kind != tf.string.as_datatype_enum]
        found.append([tensor.name for tensor in (condition, *numbers)])
    return found


def _made_up(entries: Sequence[Input], size: BatchSize, seed: int) -> Arrays:
    """Returns {input: made-up values} of one tower."""
    rng = np.random.RandomState(seed)
    values = {entry.name: made_up_values(entry, size, rng) for entry in entries if not entry.sparse}
    for parts in sparse_groups(entries).values():
        values.update(made_up_sparse_tensor(parts, size, rng))
    return values
