"""Finds made-up data that a graph can run with, by trying: sizes of open dimensions, and ranges of integers.

A graph may leave dimensions open that must fit its variables, each other, or a constant inside it, and integers that
must be lengths, labels or masks. Where batches drawn without this knowledge fail, or give no finite loss or no
gradient, every open dimension gets a prime number of its own: the numbers in an op's error then tell which dimension is
wrong, and what it must be.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from legacy.saved.analysis.context import Context
from legacy.saved.data_trial.trial_choices import (
    all_alike,
    choices,
    has_open_rows,
    is_open,
    larger_inputs,
    longer_sequences,
    of_full_length,
    ranges_of_several,
    with_long_sequences,
    without_padding,
)
from legacy.saved.data_trial.trial_run import TrialOutcome, TrialRunner
from legacy.saved.data_trial.trial_sizes import BATCH_PRIME, corrected_sizes, first_sizes, with_sizes
from legacy.saved.inputs.parts import constant_part, rows_taken
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.made_up_data import OPEN
from workloads.lifted.own_examples import OwnExamples
from workloads.lifted.plan import Input, Plan
from workloads.program import Arrays
from workloads.support.errors import InputError

#: Runs of the graph that are tried, in all and for one choice of ranks and ranges.
MOST_RUNS, MOST_RUNS_OF_A_CHOICE = 200, 24
#: Seeds with which the graph must run, since values must fit each other, such as lengths and labels; fewer for graphs
#: of `LARGE` nodes.
SEEDS, SEEDS_OF_LARGE, LARGE = 8, 2, 10_000
#: Most nodes that the runs after the first ones may compute in all: a large graph is tried less often.
MOST_NODES, FIRST_RUNS = 200_000, 12
#: The most that corrections of the sizes may cost, tried in turn.
MOST_COSTS = (4.0, 9.0)


def fit_made_up_data(plan: Plan, context: Context, start: Mapping[str, np.ndarray], own: Sequence[Arrays] = ()) -> None:
    """Sets `example`, `low` and `limit` of a plan's inputs, and its batch, so that the graph runs with made-up data.

    Nothing is changed if the graph runs without them, or if no search finds any. Where it runs with the program's own
    batches only, `own_batches` is set to the number of these.

    Args:
      plan: the plan of a lift; changed.
      context: of the subgraph that a step runs.
      start: {variable: initial value}.
      own: batches of the program's own data, of each tower in one step after the other.
    """
    entries = plan.inputs + plan.common
    tells = any(phase.losses or any(phase.gradients) for phase in plan.phases)
    if not tells or not (own or any(is_open(entry) for entry in entries)):
        return
    try:
        search = _Search(plan, context, start, own)
    except (InputError, ValueError, tf.errors.OpError):
        return
    found = search.best()
    if found is not None and found.is_own:
        plan.own_batches = len(own)
        plan.batch = plan.batch or found.batch
    elif found is not None:
        plan.batch = found.batch if plan.batch is None else plan.batch
        for entry, fitted in zip(entries, found.entries):
            entry.example, entry.low, entry.limit = fitted.example, fitted.low, fitted.limit
            entry.has_full = fitted.has_full
            if entry.shape is None and not entry.sparse:
                entry.kind = "setting" if not fitted.example else entry.kind


class _Fit(NamedTuple):
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


class _Search:
    """Tries made-up data.

    Args:
      plan: the plan.
      context: of the subgraph that a step runs.
      start: {variable: initial value}.
      own: batches of the program's own data.
    """

    def __init__(self, plan: Plan, context: Context, start: Mapping[str, np.ndarray], own: Sequence[Arrays]) -> None:
        self._plan, self._entries, self._own = plan, plan.inputs + plan.common, own
        self._runner = TrialRunner(plan, context.graph, start)
        self._runs = 0
        self._is_small = len(context.graph.nodes) < LARGE
        self._most_runs = min(MOST_RUNS, max(FIRST_RUNS, MOST_NODES // len(context.graph.nodes)))
        rows = [[parse_tensor_name(name) for name in entry.tensors] for entry in plan.inputs]
        parts: list[int | None] = [self._own_rows(), plan.usual_batch]
        parts += [constant_part(context.graph, context.imported, row) for row in rows]
        fixed = [entry.shape[0] or 0 for entry in plan.inputs if entry.kind == "whole" and entry.shape]
        parts += [number for number in fixed if number > 1]
        parts += [rows_taken(context.graph, context.imported, tensor) for row in rows for tensor in row]
        self._batches = [part for part in dict.fromkeys(parts) if part and plan.batch is None]
        self._batches.append(plan.batch or BATCH_PRIME)

    def best(self) -> _Fit | None:
        """Returns data with which the graph runs, best with finite results; None if none are needed, or none found."""
        first = self._run(self._entries, self._plan.per_replica_batch)
        if first.is_good:
            return None
        for batch in self._batches[:-1]:
            fit = self._good(self._entries, batch)
            if fit is not None:
                return fit
        if self._own:
            kept = self._runs_with_own()
            if kept is not None:
                return kept
        longer, alike = longer_sequences(self._entries), all_alike(self._entries)
        tried: list[tuple[Sequence[Input], int | None]] = [
            (one, None) for one in [*longer, *map(without_padding, longer)]
        ]
        tried += [(alike, None)] if alike != list(self._entries) else []
        tried += [(self._entries, OPEN)] if self._plan.batch is None and has_open_rows(self._entries) else []
        for entries, needed in tried:
            fit = self._good(entries, needed)
            if fit is not None:
                return fit
        found = self._first_that_runs(first)
        if found is None or not found.outcome.is_good:
            found = self._larger(found) or found
        found = found and self._with_other_lengths(found)
        padded = of_full_length(self._entries)
        if (found is None or not found.outcome.is_good or self._has_one_length(found)) and padded != self._entries:
            fit = self._good(padded, None)
            found = found if fit is None else self._with_other_lengths(fit)
        return None if found is None else self._with_several_values(found)

    def _good(self, entries: Sequence[Input], batch: int | None) -> _Fit | None:
        """Returns inputs, with the batch that they need, if the graph runs well with them; None if it does not."""
        outcome = self._run(entries, batch or self._plan.per_replica_batch)
        return _Fit(list(entries), batch, outcome) if outcome.is_good else None

    def _has_one_length(self, fit: _Fit) -> bool:
        """Whether all lengths of an input are the least, as of sequences that are as long as the longest of them."""
        pairs = zip(self._entries, fit.entries)
        return any(before.low and after.low == before.low and after.limit == after.low + 1 for before, after in pairs)

    def _own_rows(self) -> int | None:
        """Returns the number of a tower's examples in the program's own data; None if no input has a row for each."""
        rows = [len(self._own[0][e.name]) for e in self._entries if e.kind == "batch" and not e.sparse and self._own]
        return rows[0] if rows else None

    def _runs_with_own(self) -> _Fit | None:
        """Returns the program's own data if the graph runs with the batches of each step."""
        towers = self._plan.towers
        outcome = TrialOutcome("")
        for first in range(0, len(self._own), towers):
            outcome = self._runner.run_batches(self._entries, self._own[first : first + towers])
            if not outcome.is_good:
                return None
        has_rows = OwnExamples(self._own, towers, self._entries).has_rows
        return _Fit(list(self._entries), None if has_rows else self._own_rows(), outcome, is_own=True)

    def _first_that_runs(self, first: TrialOutcome) -> _Fit | None:
        """Returns the first choice of sizes and ranges with which the graph runs; `first` is the outcome of none."""
        fallback: _Fit | None = None
        for most_cost in MOST_COSTS:
            for batch, entries in itertools.product(self._batches, choices(self._entries)):
                fit = self._solved(entries, batch, most_cost)
                if fit is not None and fit.outcome.is_good:
                    return fit
                fallback = fallback or fit
                if self._runs >= self._most_runs:
                    return fallback if first.message else None
        return fallback if first.message else None

    def _larger(self, fit: _Fit | None) -> _Fit | None:
        """Returns the first larger sizes of the open dimensions with which the graph runs well; None without any."""
        for entries in larger_inputs(self._entries if fit is None else fit.entries):
            good = self._good(entries, None if fit is None else fit.batch)
            if good is not None:
                return good
        return None

    def _with_other_lengths(self, fit: _Fit) -> _Fit:
        """Returns a fit with lengths of sequences up to the longest that the graph takes, where all are equal.

        A graph may need one of the full length, such as one that loops as often as the greatest length says.
        """
        batch = fit.batch or self._plan.per_replica_batch
        numbers = range(len(fit.entries))
        for number in (*numbers, *numbers):  # again, beside others that are longer now
            entry, least = fit.entries[number], self._entries[number].low
            if not least or entry.limit != entry.low + 1:
                continue
            shorter = self._with_shorter(fit, entry, least, batch)
            if shorter is not None:
                fit = shorter
                continue
            fit = self._with_longer(fit, number, batch)
            if self._runs >= self._most_runs + MOST_RUNS_OF_A_CHOICE:
                return fit
        return fit

    def _with_shorter(self, fit: _Fit, entry: Input, least: int, batch: int) -> _Fit | None:
        """Returns a fit in which an input's lengths are between the least and the one that all have; None without any.

        The shortest sequence may have to hold what other inputs point at, as the places that a pointer network learns:
        lengths of half the longest and more are tried, too, one of them the longest.

        Args:
          fit: in which all are equal.
          entry: the input.
          least: the least length.
          batch: number of a tower's examples.
        """
        half = (least + entry.low + 1) // 2
        for low, has_full in ((least, False), (least, True), (half, True)) if least < entry.low else ():
            other = dataclasses.replace(entry, low=low, has_full=has_full)
            shorter = [other if one is entry else one for one in fit.entries]
            outcome = self._run(shorter, batch)
            if outcome.is_good:
                return _Fit(shorter, fit.batch, outcome)
        return None

    def _with_longer(self, fit: _Fit, number: int, batch: int) -> _Fit:
        """Returns a fit with lengths from the one that all have up to the longest that the graph takes.

        What is longer may need other sequences that are long, as labels need the times of CTC.

        Args:
          fit: in which all lengths of an input are equal.
          number: of the input.
          batch: number of a tower's examples.
        """
        least = fit.entries[number].low
        sizes = {size for other in fit.entries for size in other.example if size and size > least}
        for longest in sorted({least + 1} | sizes):
            longer = dataclasses.replace(fit.entries[number], limit=longest + 1)
            fit = self._with_input(fit, number, longer, batch) or fit
        return fit

    def _with_several_values(self, fit: _Fit) -> _Fit:
        """Returns a fit in which integers that are no lengths have two values each, where the graph runs so.

        One of them may be why all were set to one value, such as a mask whose product over many pixels is zero.
        """
        if not fit.outcome.is_good:
            return fit
        for number, entry in enumerate(fit.entries):
            if entry.dtype.startswith("int") and entry.limit == entry.low + 1 and not self._entries[number].low:
                fit = self._with_ranges(fit, number, ranges_of_several(entry))
        return fit

    def _with_ranges(self, fit: _Fit, number: int, ranges: Sequence[tuple[int, int, bool]]) -> _Fit:
        """Returns a fit in which an input has the first of some ranges with which the graph runs.

        Args:
          fit: as found so far.
          number: of the input.
          ranges: (low, limit, has_full) of each.

        Returns:
          `fit` if the graph runs with none of them.
        """
        batch = fit.batch or self._plan.per_replica_batch
        for low, limit, has_full in ranges:
            bounded = dataclasses.replace(fit.entries[number], low=low, limit=limit, has_full=has_full)
            found = self._with_input(fit, number, bounded, batch)
            if found is not None:
                return found
        return fit

    def _with_input(self, fit: _Fit, number: int, entry: Input, batch: int) -> _Fit | None:
        """Returns a fit with other bounds of an input, perhaps beside longer sequences.

        Args:
          fit: as found so far.
          number: of the input.
          entry: the input with these bounds.
          batch: number of a tower's examples.

        Returns:
          None if the graph does not run so, or was tried too often.
        """
        entries = [*fit.entries[:number], entry, *fit.entries[number + 1 :]]
        long = with_long_sequences(entries, self._entries)
        for tried in (entries, long) if long != entries else (entries,):
            if self._runs >= self._most_runs + MOST_RUNS_OF_A_CHOICE:
                return None
            outcome = self._run(tried, batch)
            if outcome.is_good:
                return _Fit(tried, fit.batch, outcome)
        return None

    def _run(self, entries: Sequence[Input], batch: int) -> TrialOutcome:
        """Runs several times, with different values; returns the first outcome that is not good."""
        outcome = TrialOutcome("")
        for seed in range(SEEDS if self._is_small else SEEDS_OF_LARGE):
            self._runs += 1
            outcome = self._runner.run(entries, batch, seed)
            if not outcome.is_good:
                break
        return outcome

    def _solved(self, entries: Sequence[Input], batch: int, most_cost: float) -> _Fit | None:
        """Returns sizes of the open dimensions with which the graph runs; None if none cost so little."""
        todo = [first_sizes(entries, batch)]
        seen = set()
        most_runs = min(self._most_runs, self._runs + MOST_RUNS_OF_A_CHOICE)
        while todo and self._runs < most_runs:
            sizes = todo.pop(min(range(len(todo)), key=lambda i: todo[i].cost))
            key = (tuple(sorted(sizes.open.items())), sizes.batch)
            if key in seen:
                continue
            seen.add(key)
            sized = [with_sizes(entry, sizes) for entry in entries]
            outcome = self._run(sized, sizes.batch)
            if not outcome.message:
                is_pinned = self._plan.batch is None and sizes.batch != BATCH_PRIME
                return _Fit(sized, sizes.batch if is_pinned else None, outcome)
            corrected = corrected_sizes(sizes, batch == BATCH_PRIME, outcome.message)
            todo += [other for other in corrected if other.cost <= most_cost]
        return None
