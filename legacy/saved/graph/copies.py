"""Assignments that copy a variable to one of another type, as float32 weights to the float16 ones that layers take."""

from __future__ import annotations

from legacy.saved.graph import op_types
from workloads.lifted.graph import Graph

#: Ops that hand a value on as it is.
_PASSES = ("Identity", "Switch", "RefSwitch", "ReadVariableOp")


def copied_variable(graph: Graph, assignment: str) -> str | None:
    """Returns the variable whose value, cast to another type, a node assigns; None for any other node."""
    if graph.type(assignment) not in ("Assign", "AssignVariableOp"):
        return None
    name = graph.inputs(assignment)[1].node
    casts = 0
    while graph.type(name) in (*_PASSES, "Cast"):
        casts += graph.type(name) == "Cast"
        name = graph.inputs(name)[0].node
    return name if casts and graph.type(name) in op_types.VARIABLES else None
