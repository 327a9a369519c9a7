"""Reads of variables: ops that hand on a variable's value, and the variable that a value is."""

from __future__ import annotations

import re
from collections.abc import Collection

from legacy.saved.graph import op_types
from workloads.lifted.graph import Graph

#: Ops that hand on the value of a variable; and those that do so within the branches of a `cond` besides.
READS, READS_IN_BRANCHES = op_types.READS_IN_LOOPS, op_types.READS_IN_BRANCHES
#: Ops that use a variable, but do not compute with it.
_BOOKKEEPING = re.compile("Assign|Save|IsVariableInitialized|VarIsInitializedOp|HistogramSummary")


def variable_read(graph: Graph, name: str, reads: Collection[str] = READS) -> str:
    """Returns the variable whose value a node hands on.

    Args:
      graph: a graph.
      name: of the node.
      reads: types of the ops that hand a value on.

    Returns:
      Its name; "" where the value is no variable's.
    """
    while graph.type(name) in reads and graph.inputs(name):
        name = graph.inputs(name)[0].node
    return name if graph.type(name) in op_types.VARIABLES else ""


def variable_sizes(graph: Graph, variable: str) -> list[int]:
    """Returns the dimensions of a variable, -1 of an open one; [] also of a variable of unknown rank."""
    return [dimension.size for dimension in graph.nodes[variable].attr["shape"].shape.dim]


def variables_behind(graph: Graph, name: str) -> set[str]:
    """Returns the variables that a node is computed from."""
    return {node for node in graph.ancestors([name], controls=False) if graph.type(node) in op_types.VARIABLES}


def is_read(graph: Graph, variable: str) -> bool:
    """Returns whether an op computes with a variable's value."""
    todo = [variable]
    while todo:
        for user, _, _ in graph.users(todo.pop()):
            kind = graph.type(user)
            if kind in op_types.READS:
                todo.append(user)
            elif not _BOOKKEEPING.search(kind):
                return True
    return False
