"""Switches between training and evaluation that no name gives away: both values are tried, the one that trains taken.

Such a switch is a boolean placeholder, or a boolean variable that the program assigns before it trains or evaluates.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from legacy.saved.graph import folding, op_types
from workloads.lifted.graph import SWITCHES, Graph, TensorId

#: So many switches are tried.
MOST_TRIED = 4
#: Op types that change variables begin so.
_UPDATES = ("Assign", "Scatter", "ResourceScatter")


class TriedSwitches(NamedTuple):
    """A graph whose switches were tried.

    Attributes:
      graph: the graph, with the switches that matter decided.
      settings: {placeholder or variable: its value}.
      notes: a sentence for each, why it is taken so.
    """

    graph: Graph
    settings: dict[str, bool]
    notes: list[str]


def try_switches(graph: Graph, targets: Sequence[str]) -> TriedSwitches:
    """Tries both values of each boolean that a `cond` of the train ops depends on alone.

    Args:
      graph: the whole graph, with known settings folded into it.
      targets: train ops.

    Returns:
      The graph with those decided by which a step runs other updates or random ops: the value that runs more is the
      one that trains. A switch that chooses between two like branches, such as two queues, stays.
    """
    settings: dict[str, bool] = {}
    notes: list[str] = []
    for name in _switches(graph, graph.ancestors(targets))[:MOST_TRIED]:
        folded = {value: folding.fold_values(graph, {name: np.array(value)}) for value in (True, False)}
        runs = {value: _training_ops(folded[value], targets) for value in folded}
        if runs[True] != runs[False]:
            value = runs[True] > runs[False]
            graph, settings[name] = folded[value], value
            notes.append(
                f"{name} is taken as {value}: a step then runs {runs[value]} updates and random ops, with {not value} "
                f"{runs[not value]}; --feed={name}={str(not value).lower()} overrides that"
            )
    return TriedSwitches(graph, settings, notes)


def _switches(graph: Graph, members: Collection[str]) -> list[str]:
    """Returns boolean placeholders and variables that decide a `cond` among some nodes, in the order of the graph."""
    predicates = {
        graph.inputs(name)[1] for name in members if graph.type(name) in SWITCHES and len(graph.inputs(name)) > 1
    }
    found = []
    for name, node in graph.nodes.items():
        is_switch = node.op in folding.SETTINGS or node.op in op_types.VARIABLES
        if name in members and is_switch and node.attr["dtype"].type == tf.bool.as_datatype_enum:
            decided = folding.decided_predicates(graph, {name: np.array(True)})
            if predicates & (set(decided) | {TensorId(name, 0)}):
                found.append(name)
    return found


def _training_ops(graph: Graph, targets: Sequence[str]) -> int:
    """Returns the number of updates and random ops that train ops run; -1 if one of them never runs."""
    if any(target not in graph.nodes for target in targets):
        return -1
    types = [graph.type(name) for name in graph.ancestors(targets)]
    return sum(
        op_types.is_apply(op_type) or op_type.startswith(_UPDATES) or op_types.is_random(op_type) for op_type in types
    )
