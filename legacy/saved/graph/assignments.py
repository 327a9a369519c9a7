"""Assignments: the ops that set a variable, and the variable that an assignment or an update rule writes."""

from __future__ import annotations

from legacy.saved.graph import op_types
from workloads.lifted.graph import Graph

#: Beginnings of the op types that set a variable, or rows of one.
ASSIGNMENTS = ("Assign", "Scatter", "ResourceScatter")
#: Beginnings of the op types that change a variable: those, and the update rules.
WRITERS = (*ASSIGNMENTS, "Apply", "SparseApply", "ResourceApply", "ResourceSparseApply")
#: Most nodes between a saver's assignment and the op that reads the file.
RESTORE_DEPTH = 3
#: Ops that hand a value on as it is.
PASSES = (*op_types.READS, "Switch", "RefSwitch")


def variable_of(graph: Graph, node: str) -> str | None:
    """Returns the variable that an update op writes: what its first input is a reference to, or the handle of."""
    name: str | None = graph.inputs(node)[0].node if graph.inputs(node) else None
    while name is not None and graph.type(name) not in op_types.VARIABLES:
        before = graph.inputs(name)
        name = before[0].node if before else None
    return name


def written_variables(graph: Graph) -> dict[str, str]:
    """Returns {node: the variable that it changes}, without initializers and restores, in the order of the graph."""
    writers = [name for name in graph.nodes if graph.type(name).startswith(WRITERS)]
    written = ((name, variable_of(graph, name)) for name in writers)
    return {name: variable for name, variable in written if variable and not _is_initial(graph, name, variable)}


def copied_variable(graph: Graph, assignment: str) -> str | None:
    """Returns the variable whose value, cast to another type, a node assigns, as of float32 weights; else None."""
    name, casts = _source_and_casts(graph, assignment)
    return name if casts else None


def assigned_variable(graph: Graph, assignment: str) -> str | None:
    """Returns the variable whose value a node assigns as it is, as to a copy of a model; else None."""
    name, casts = _source_and_casts(graph, assignment)
    return None if casts else name


def _source_and_casts(graph: Graph, assignment: str) -> tuple[str | None, int]:
    """The variable whose value a node assigns, or None, and the number of casts on the way."""
    if graph.type(assignment) not in op_types.SETS:
        return None, 0
    name = graph.inputs(assignment)[1].node
    casts = 0
    while graph.type(name) in (*PASSES, "Cast"):
        casts += graph.type(name) == "Cast"
        name = graph.inputs(name)[0].node
    return name if graph.type(name) in op_types.VARIABLES else None, casts


def _is_initial(graph: Graph, name: str, variable: str) -> bool:
    """Whether an assignment is a variable's initializer, or a saver's."""
    if name == variable + "/Assign":
        return True
    level = [producer for producer, _ in graph.inputs(name)[1:2]]
    for _ in range(RESTORE_DEPTH):
        if any(graph.type(producer).startswith("Restore") for producer in level):
            return True
        level = [before for producer in level for before, _ in graph.inputs(producer)]
    return False
