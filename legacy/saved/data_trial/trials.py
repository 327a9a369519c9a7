"""Trials of made-up data: several runs of the graph with each choice, and a limit on the runs of them all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from legacy.saved.analysis.context import Context
from legacy.saved.data_trial.trial_run import TrialOutcome, TrialRunner
from workloads.lifted.plan import Input, Plan
from workloads.program import Arrays

#: Runs of the graph that are tried, in all and for one choice of ranks and ranges.
MOST_RUNS, MOST_RUNS_OF_A_CHOICE = 200, 24
#: Seeds with which the graph must run, since values must fit each other, such as lengths and labels; fewer for graphs
#: of `LARGE` nodes.
SEEDS, SEEDS_OF_LARGE, LARGE = 8, 2, 10_000
#: Further seeds with which a graph must not fail where integers are made up, and the most nodes that such runs compute:
#: labels that do not fit into their sequence may be rare, and a comparison draws as many batches.
MORE_SEEDS, MOST_NODES_OF_MORE = 32, 100_000
#: Most nodes that the runs after the first ones may compute in all: a large graph is tried less often.
MOST_NODES, FIRST_RUNS = 200_000, 12


class Fit(NamedTuple):
    """A choice of made-up data.

    Attributes:
      entries: the inputs with `example`, `low` and `limit` set.
      batch: number of a tower's examples that the graph needs, or None if it takes any.
      outcome: of the run with it.
      is_own: whether it is the program's own data.
    """

    entries: list[Input]
    batch: int | None
    outcome: TrialOutcome
    is_own: bool = False


class Trials:
    """Runs the graph with choices of made-up data, and counts the runs.

    Args:
      plan: the plan.
      context: of the subgraph that a step runs.
      start: {variable: initial value}.
    """

    def __init__(self, plan: Plan, context: Context, start: Mapping[str, np.ndarray]) -> None:
        nodes = len(context.graph.nodes)
        self.per_replica_batch = plan.per_replica_batch
        self._runner = TrialRunner(plan, context.graph, start)
        self._seeds = SEEDS if nodes < LARGE else SEEDS_OF_LARGE
        self._more = min(MORE_SEEDS, MOST_NODES_OF_MORE // nodes)
        self._most = min(MOST_RUNS, max(FIRST_RUNS, MOST_NODES // nodes))
        self._runs = 0

    def run(self, entries: Sequence[Input], batch: int) -> TrialOutcome:
        """Runs several times, with different values; returns the first outcome that is not good.

        Further runs, which are not counted, only look for errors: one without a gradient may be as rare as it may be.
        """
        outcome = TrialOutcome("")
        for seed in range(self._seeds):
            self._runs += 1
            outcome = self._runner.run(entries, batch, seed)
            if not outcome.is_good:
                return outcome
        more = self._more if any(map(_has_choice, entries)) else 0
        for seed in range(self._seeds, self._seeds + more):
            other = self._runner.run(entries, batch, seed)
            if other.message:
                return other
        return outcome

    def run_batches(self, entries: Sequence[Input], shards: Sequence[Arrays]) -> TrialOutcome:
        """Runs once on given data, {input: array} of each tower."""
        return self._runner.run_batches(entries, shards)

    def good(self, entries: Sequence[Input], batch: int | None) -> Fit | None:
        """Returns inputs, with the batch that they need, if the graph runs well with them; None if it does not."""
        outcome = self.run(entries, batch or self.per_replica_batch)
        return Fit(list(entries), batch, outcome) if outcome.is_good else None

    def runs_left(self) -> int:
        """Returns how many more runs may be tried; none is left from 0 down."""
        return self._most - self._runs


def _has_choice(entry: Input) -> bool:
    """Returns whether whole numbers of an input are drawn from more than one."""
    return entry.dtype.startswith(("int", "uint")) and entry.limit != entry.low + 1
