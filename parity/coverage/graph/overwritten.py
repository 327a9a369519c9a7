"""Changes of variables that a later assignment of the same step replaces before anything reads them."""

from __future__ import annotations

import collections
from collections.abc import Collection

from legacy.saved.graph.assignments import ASSIGNMENTS, variable_of
from legacy.saved.graph.op_types import VARIABLES
from workloads.lifted.graph import Graph

#: Ops that replace a variable's whole value.
_REPLACES = ("Assign", "AssignVariableOp")
#: Ops whose result is the variable, or its value, that they are given.
_COPIES = ("Identity", "RefIdentity", "ReadVariableOp")


def find_overwritten(graph: Graph, run: Collection[str]) -> set[str]:
    """Finds the assignments that a later one overwrites in every step.

    So it is where each of several towers assigns what it computed for one moving mean, one after the other.

    Args:
      graph: the graph.
      run: names of the nodes that a step runs.

    Returns:
      the names of the assignments.
    """
    writers: dict[str, list[str]] = collections.defaultdict(list)
    for name in run:
        variable = variable_of(graph, name) if graph.type(name).startswith(ASSIGNMENTS) else None
        if variable is not None:
            writers[variable].append(name)
    found: set[str] = set()
    for variable, names in writers.items():
        later = [name for name in names if graph.type(name) in _REPLACES and name not in graph.branches()]
        found |= {name for name in names if any(_is_replaced(graph, run, variable, name, other) for other in later)}
    return found


def _is_replaced(graph: Graph, run: Collection[str], variable: str, name: str, later: str) -> bool:
    """Whether an assignment always comes before another one, and every read of the variable before it or after both."""
    if name == later or name not in graph.ancestors([later]):
        return False
    early, late = graph.ancestors([name]), graph.descendants([later])
    return all(reader in early or reader in late for reader in _readers(graph, run, variable, [name, later]))


def _readers(graph: Graph, run: Collection[str], variable: str, writers: Collection[str]) -> set[str]:
    """The nodes that use a variable's value, or the result of an assignment; an assignment itself is none."""
    readers: set[str] = set()
    todo = [variable, *writers]
    while todo:
        for use in graph.users(todo.pop()):
            if use.node not in run or use.node in writers and use.position == 0:
                continue
            if graph.type(use.node) in (*_COPIES, *VARIABLES):
                todo.append(use.node)
            else:
                readers.add(use.node)
    return readers
