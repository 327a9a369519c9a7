"""The train ops that a program ran in each step, and its graph with all settings and switches decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from legacy.saved.folding.settings import fold_known, fold_settings
from legacy.saved.graph.graph_file import SavedGraph
from legacy.saved.graph.trained import trained_variables
from legacy.saved.runs import accumulation, switches, train_ops
from legacy.saved.runs.beside import join_runs, never_run, run_beside, with_assignments
from legacy.saved.runs.fetched_beside import counters_beside
from workloads.lifted.graph import Graph


class StepRun(NamedTuple):
    """The train ops that a program ran in each step, and the graph without undecided settings.

    Attributes:
      whole: the graph, with settings and switches that are decided.
      targets: the train ops, one for each run.
      trainable: names of the variables that the program trains.
      settings: {setting or switch: text of its value}.
      notes: sentences on the switches.
      unused: updates that no train op runs, as `beside.never_run` returns them.
      counters: {op beside the train op: step counter that it raises}.
    """

    whole: Graph
    targets: list[str]
    trainable: list[str]
    settings: dict[str, Any]
    notes: list[str]
    unused: dict[str, list[str]]
    counters: dict[str, str]


def find_step_run(
    saved: SavedGraph, train_op: Sequence[str], feed: Mapping[str, str], beside: Sequence[str]
) -> StepRun:
    """Finds the train ops that a program ran in each step, and decides its settings and switches.

    Args:
      saved: the graph, as read from its file.
      train_op: names of the train ops, or empty to find the one.
      feed: {placeholder: text of its value} of settings.
      beside: names of ops that each step ran beside the train op.

    Returns:
      The train ops and the graph.
    """
    whole, settings = fold_settings(saved.graph, feed)
    trainable = trained_variables(whole, saved.collections.get("trainable_variables", []))
    whole, targets = join_runs(whole, train_ops.choose_train_ops(whole, train_op, trainable))
    whole = fold_known(whole, targets)
    accumulation.require_accumulation(whole, targets, trainable)
    accumulation.require_own_gradients(whole, targets)
    tried = switches.try_switches(whole, targets)
    whole, targets = run_beside(tried.graph, targets, beside)
    unused = never_run(whole, targets, with_assignments(saved.collections, saved.graph, whole), trainable)
    counters = counters_beside(whole, targets)
    return StepRun(whole, targets, trainable, {**settings, **tried.settings}, list(tried.notes), unused, counters)
