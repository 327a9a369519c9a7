"""Assignments: the ops that set a variable, and the variable that an assignment or an update rule writes."""

from __future__ import annotations

from legacy.saved.graph import op_types
from workloads.lifted.graph import Graph

#: Beginnings of the op types that set a variable, or rows of one.
ASSIGNMENTS = ("Assign", "Scatter", "ResourceScatter")


def variable_of(graph: Graph, node: str) -> str | None:
    """Returns the variable that an update op writes: what its first input is a reference to, or the handle of."""
    name: str | None = graph.inputs(node)[0].node if graph.inputs(node) else None
    while name is not None and graph.type(name) not in op_types.VARIABLES:
        before = graph.inputs(name)
        name = before[0].node if before else None
    return name
