"""Hazard of the smallest distance of each example, to all examples and so to itself, which is always 0."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.constants import constant_array
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.squares import squared
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from legacy.saved.hazards.signs.own_distances import rows_of_own_distances
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op


def nearest_is_itself(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds the smallest of each example's distances to all of a batch, without a mask; one hazard for all."""
    graph = whole.graph
    for name in [name for name in whole.minimized_ops("Min") if not is_gradient_op(name)]:
        axes = constant_array(graph, graph.inputs(name)[1].node)
        results = _of_all_pairs(whole, graph.inputs(name)[0]) if axes is not None and axes.size == 1 else None
        if results is not None and results.node in made_by_weights(whole) and results.node in whole.data:
            yield Hazard(
                "NEAREST_IS_ITSELF",
                name,
                f"{name} is the smallest of an example's distances to all examples of a tower, by {results.node}: the "
                "one to itself, which is 0 whatever the weights are",
                "add a large number to the distances of equal examples first; for parity keep it",
            )
            return


def _of_all_pairs(whole: WholeGraph, tensor: TensorId) -> TensorId | None:
    """The rows x of which a tensor has all squared distances, as x[:, None] - x[None], or their roots; else None.

    So it is of |x|^2 - 2 x x' + |x|^2.
    """
    graph, name = whole.graph, source_of_elements(whole.graph, tensor).node
    while graph.type(name) in ("Sqrt", "Add", "AddV2", "Maximum", "Relu", "Identity"):
        others = [one for one in graph.inputs(name) if whole.value(one.node) is None]
        if len(others) != 1:
            return None
        rows = rows_of_own_distances(whole, name)
        if rows is not None:
            return rows
        name = graph.origin(others[0]).node
    rows = rows_of_own_distances(whole, name)
    if rows is not None:
        return rows
    inner = graph.origin(graph.inputs(name)[0]).node if graph.type(name) == "Sum" else ""
    if not inner:
        return None
    square = squared(whole, inner)
    difference = inner if square is None else square.node
    if graph.type(difference) not in op_types.DIFFERENCES:
        return None
    sides = [graph.origin(one) for one in graph.inputs(difference)[:2]]
    sources = {source_of_elements(graph, one) for one in sides}
    return sources.pop() if len(sources) == 1 and sides[0] != sides[1] else None
