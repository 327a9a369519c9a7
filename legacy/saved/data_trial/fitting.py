"""Finds made-up data that a graph can run with, by trying: sizes of open dimensions, and ranges of integers.

A graph may leave dimensions open that must fit its variables, each other, or a constant inside it, and integers that
must be lengths, labels or masks. Where batches drawn without this knowledge fail, or give no finite loss or no
gradient, every open dimension gets a prime number of its own: the numbers in an op's error then tell which dimension is
wrong, and what it must be.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

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
    without_padding,
)
from legacy.saved.data_trial.trial_run import TrialOutcome
from legacy.saved.data_trial.trial_sizes import BATCH_PRIME, corrected_sizes, first_sizes, with_sizes
from legacy.saved.data_trial.trials import MOST_RUNS_OF_A_CHOICE, Fit, Trials
from legacy.saved.data_trial.wider_bounds import WiderBounds
from legacy.saved.data_trial.window_sizes import of_one_size, window_sizes
from legacy.saved.inputs.parts import constant_part, rows_taken
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.made_up_data import OPEN
from workloads.lifted.own_examples import OwnExamples
from workloads.lifted.plan import Input, Plan
from workloads.program import Arrays
from workloads.support.errors import InputError

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
        self._trials = Trials(plan, context, start)
        self._windows = window_sizes(context.graph, context.imported)
        self._bounds = WiderBounds(self._trials, self._entries)
        rows = [[parse_tensor_name(name) for name in entry.tensors] for entry in plan.inputs]
        parts: list[int | None] = [self._own_rows(), plan.usual_batch]
        parts += [constant_part(context.graph, context.imported, row) for row in rows]
        fixed = [entry.shape[0] or 0 for entry in plan.inputs if entry.kind == "whole" and entry.shape]
        parts += [number for number in fixed if number > 1]
        parts += [rows_taken(context.graph, context.imported, tensor) for row in rows for tensor in row]
        self._batches = [part for part in dict.fromkeys(parts) if part and plan.batch is None]
        self._batches.append(plan.batch or BATCH_PRIME)

    def best(self) -> Fit | None:
        """Returns data with which the graph runs, best with finite results; None if none are needed, or none found."""
        first = self._trials.run(self._entries, self._plan.per_replica_batch)
        if first.is_good:
            return None
        return self._without_search() or self._searched(first)

    def _without_search(self) -> Fit | None:
        """Returns the first of a few likely choices with which the graph runs well; None if it does with none."""
        for batch in self._batches[:-1]:
            fit = self._trials.good(self._entries, batch)
            if fit is not None:
                return fit
        own = self._runs_with_own() if self._own else None
        if own is not None:
            return own
        longer, alike = longer_sequences(self._entries), all_alike(self._entries)
        windows = [of_one_size(self._entries, size) for size in self._windows]
        tried: list[tuple[Sequence[Input], int | None]] = [
            (one, None)
            for one in [*(one for one in windows if one != list(self._entries)), *longer, *map(without_padding, longer)]
        ]
        tried += [(alike, None)] if alike != list(self._entries) else []
        tried += [(self._entries, OPEN)] if self._plan.batch is None and has_open_rows(self._entries) else []
        for entries, needed in tried:
            fit = self._trials.good(entries, needed)
            if fit is not None:
                return fit
        return None

    def _searched(self, first: TrialOutcome) -> Fit | None:
        """Returns sizes and bounds that a search finds, the bounds as wide as the graph takes; None if it finds none.

        `first` is the outcome of the inputs as they are.
        """
        found = self._first_that_runs(first)
        if found is None or not found.outcome.is_good:
            found = self._larger(found) or found
        found = found and self._bounds.with_other_lengths(found)
        padded = of_full_length(self._entries)
        if (found is None or not found.outcome.is_good or self._has_one_length(found)) and padded != self._entries:
            fit = self._trials.good(padded, None)
            found = found if fit is None else self._bounds.with_other_lengths(fit)
        return None if found is None else self._bounds.with_several_values(found)

    def _has_one_length(self, fit: Fit) -> bool:
        """Whether all lengths of an input are the least, as of sequences that are as long as the longest of them."""
        pairs = zip(self._entries, fit.entries)
        return any(before.low and after.low == before.low and after.limit == after.low + 1 for before, after in pairs)

    def _own_rows(self) -> int | None:
        """Returns the number of a tower's examples in the program's own data; None if no input has a row for each."""
        rows = [len(self._own[0][e.name]) for e in self._entries if e.kind == "batch" and not e.sparse and self._own]
        return rows[0] if rows else None

    def _runs_with_own(self) -> Fit | None:
        """Returns the program's own data if the graph runs with the batches of each step."""
        towers = self._plan.towers
        outcome = TrialOutcome("")
        for first in range(0, len(self._own), towers):
            outcome = self._trials.run_batches(self._entries, self._own[first : first + towers])
            if not outcome.is_good:
                return None
        has_rows = OwnExamples(self._own, towers, self._entries).has_rows
        return Fit(list(self._entries), None if has_rows else self._own_rows(), outcome, is_own=True)

    def _first_that_runs(self, first: TrialOutcome) -> Fit | None:
        """Returns the first choice of sizes and ranges with which the graph runs; `first` is that of none."""
        fallback: Fit | None = None
        for most_cost in MOST_COSTS:
            for batch, entries in itertools.product(self._batches, choices(self._entries)):
                fit = self._solved(entries, batch, most_cost)
                if fit is not None and fit.outcome.is_good:
                    return fit
                fallback = fallback or fit
                if self._trials.runs_left() <= 0:
                    return fallback if first.message else None
        return fallback if first.message else None

    def _larger(self, fit: Fit | None) -> Fit | None:
        """Returns the first larger sizes of the open dimensions with which the graph runs well; None without any."""
        for entries in larger_inputs(self._entries if fit is None else fit.entries):
            good = self._trials.good(entries, None if fit is None else fit.batch)
            if good is not None:
                return good
        return None

    def _solved(self, entries: Sequence[Input], batch: int, most_cost: float) -> Fit | None:
        """Returns sizes of the open dimensions with which the graph runs; None if none cost so little."""
        todo = [first_sizes(entries, batch)]
        seen = set()
        least_left = max(0, self._trials.runs_left() - MOST_RUNS_OF_A_CHOICE)
        while todo and self._trials.runs_left() > least_left:
            sizes = todo.pop(min(range(len(todo)), key=lambda i: todo[i].cost))
            key = (tuple(sorted(sizes.open.items())), sizes.batch)
            if key in seen:
                continue
            seen.add(key)
            sized = [with_sizes(entry, sizes) for entry in entries]
            outcome = self._trials.run(sized, sizes.batch)
            if not outcome.message:
                is_pinned = self._plan.batch is None and sizes.batch != BATCH_PRIME
                return Fit(sized, sizes.batch if is_pinned else None, outcome)
            corrected = corrected_sizes(sizes, batch == BATCH_PRIME, outcome.message)
            todo += [other for other in corrected if other.cost <= most_cost]
        return None
