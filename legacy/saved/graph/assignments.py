"""Assignments: the ops that set a variable, and the variable that an assignment or an update rule writes."""

from __future__ import annotations

from legacy.saved.graph import op_types
from workloads.lifted.graph import TWO_WAY_SWITCHES, Graph

#: Beginnings of the op types that set a variable, or rows of one.
ASSIGNMENTS = ("Assign", "Scatter", "ResourceScatter")
#: Beginnings of the op types that change a variable: those, and the update rules.
WRITERS = (*ASSIGNMENTS, "Apply", "SparseApply", "ResourceApply", "ResourceSparseApply")
#: Most nodes between a saver's assignment and the op that reads the file.
RESTORE_DEPTH = 3
#: Ops that hand a value on as it is.
PASSES = (*op_types.READS, *TWO_WAY_SWITCHES)


def variable_of(graph: Graph, node: str) -> str | None:
    """Returns the variable that an update op writes: what its first input is a reference to, or the handle of."""
    name: str | None = graph.inputs(node)[0].node if graph.inputs(node) else None
    while name is not None and graph.type(name) not in op_types.VARIABLES:
        before = graph.inputs(name)
        name = before[0].node if before else None
    return name


def written_variables(graph: Graph) -> dict[str, str]:
    """Returns {node: the variable that it changes}, without initializers and restores, in the order of the graph."""
    writers = graph.of_type_prefix(WRITERS)
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


def moves_by_a_share(graph: Graph, assignment: str) -> bool:
    """Returns whether a node moves a variable towards a value, as a moving mean: `v -= (v - x) * share`.

    Or as one term of two: `v = v * decay + x * (1 - decay)`.
    """
    kind, variable = graph.type(assignment), variable_of(graph, assignment)
    value = graph.inputs(assignment)[1].node if len(graph.inputs(assignment)) > 1 else ""
    if variable is None or not value:
        return False
    inputs = [tensor.node for tensor in graph.inputs(value)]
    if kind in op_types.SETS and graph.type(value) == "Sub" and _is_value(graph, inputs[0], variable):
        value = inputs[1]
    elif kind in op_types.SETS:
        factors = [[tensor.node for tensor in graph.inputs(term)] for term in inputs if graph.type(term) == "Mul"]
        kept = [term for term in factors if any(_is_value(graph, factor, variable) for factor in term)]
        return graph.type(value) in op_types.ADDITIONS and len(factors) == 2 and len(kept) == 1
    elif kind not in op_types.SUBTRACTS:
        return False
    gaps = [tensor.node for tensor in graph.inputs(value)] if graph.type(value) == "Mul" else []
    return any(_is_value(graph, graph.inputs(gap)[0].node, variable) for gap in gaps if graph.type(gap) == "Sub")


def _is_value(graph: Graph, name: str, variable: str) -> bool:
    """Whether a node hands on a variable's value."""
    while graph.type(name) in PASSES:
        name = graph.inputs(name)[0].node
    return name == variable


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
