"""Hazard of a table of positions that is looked up by the numbers of a batch's examples, and not of the times."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.constants import constant_array
from legacy.saved.hazards.basics.elements import hands_elements_on, source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.variable_reads import variable_read
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op


def positions_of_examples(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds rows 0, 1, ... of a trained table, as many as a tower has examples; one hazard for all.

    A tower's part of a batch that is split along its first dimension tells the examples. Each has several times, for
    which the rows get a further dimension: rows of data may be times themselves.
    """
    graph = whole.graph
    for name in [name for name in whole.minimized_ops(*op_types.LOOKUPS) if not is_gradient_op(name)]:
        table, numbers = (graph.inputs(name)[place] for place in (0, 1))
        counted = source_of_elements(graph, numbers).node
        variable = variable_read(graph, table.node)
        if graph.type(counted) != "Range" or variable not in whole.trainable:
            continue
        if _is_number_of_examples(whole, graph.inputs(counted)[1]) and _has_new_axis(whole, name):
            yield Hazard(
                "POSITIONS_OF_EXAMPLES",
                name,
                f"{name} looks up a row of {variable} for each example of a batch, by its place in the batch: "
                "positions along the times are meant",
                "tf.range of the number of times; for parity keep it",
            )
            return


def _has_new_axis(whole: WholeGraph, rows: str) -> bool:
    """Whether rows get a dimension before they are added to others."""
    graph, todo, seen = whole.graph, [rows], {rows}
    while todo:
        for user in [use.node for use in graph.users(todo.pop()) if use.node in whole.minimized]:
            if graph.type(user) in ("ExpandDims", "StridedSlice", "Reshape"):
                return True
            if hands_elements_on(graph, user) and user not in seen:
                seen.add(user)
                todo.append(user)
    return False


def _is_number_of_examples(whole: WholeGraph, limit: TensorId) -> bool:
    """Whether a number is the first size of a part of a batch, of which another size is asked for, or could be."""
    graph, name = whole.graph, source_of_elements(whole.graph, limit).node
    places = constant_array(graph, graph.inputs(name)[1].node) if graph.type(name) == "StridedSlice" else None
    shape = graph.origin(graph.inputs(name)[0]).node if places is not None else ""
    if not shape or graph.type(shape) != "Shape" or places is None or list(places.ravel()) != [0]:
        return False
    part = source_of_elements(graph, graph.inputs(shape)[0]).node
    if graph.type(part) != "Split":
        return False
    axis = whole.value(graph.inputs(part)[0].node)
    return axis == 0 and part in whole.data
