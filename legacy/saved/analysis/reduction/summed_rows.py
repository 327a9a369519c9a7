"""Rows of a gradient that a program adds up for each index, before an optimizer of its own makes them dense.

`tf.unique` of the indices and `tf.unsorted_segment_sum` of the rows make no difference to the dense gradient, which
adds up all rows of an index in the same order. So it is made of the rows themselves, as where nobody added them up.
"""

from __future__ import annotations

from legacy.saved.graph import op_types
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.graph.edits import GraphCopy

_SUM = "UnsortedSegmentSum"


def with_rows_added_once(graph: Graph) -> Graph:
    """Returns a graph in which dense gradients are made of the rows that the gradients of lookups have.

    Args:
      graph: the subgraph that a step runs.

    Returns:
      The graph; the same if no rows are added up twice.
    """
    result, is_changed = GraphCopy(graph), False
    for name in graph.of_types(_SUM):
        rows = _rows_and_indices(graph, name)
        if rows is not None:
            for position, tensor in enumerate(rows):
                result.give(name, position, tensor)
            is_changed = True
    return result.graph() if is_changed else graph


def _rows_and_indices(graph: Graph, dense: str) -> tuple[TensorId, TensorId] | None:
    """Returns the rows that a dense gradient is the sum of, and their indices; None if it takes the rows themselves."""
    summed, indices = (graph.origin(tensor) for tensor in graph.inputs(dense)[:2])
    if graph.type(summed.node) != _SUM or graph.type(indices.node) not in op_types.DISTINCT or indices.output != 0:
        return None
    rows, places = graph.inputs(summed.node)[:2]
    if graph.origin(places) != TensorId(indices.node, 1):
        return None
    return rows, graph.inputs(indices.node)[0]
