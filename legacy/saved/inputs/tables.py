"""Inputs that are tables: their rows are gathered by indices, and none of them is an example."""

from __future__ import annotations

from legacy.saved.graph import op_types
from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.graph.op_types import PARTS, SHAPE_OPS
from workloads.lifted.graph import Graph, TensorId

#: Position of the axis among the inputs of a concatenation.
_AXES = {"Concat": 0, "ConcatV2": -1}


def is_table(graph: Graph, imported: ImportedGraph, tensor: TensorId) -> bool:
    """Returns whether every use of a tensor gathers rows of it, alone or joined with other rows.

    A part of a larger array is none: towers share out its examples, of which they may gather the ones to learn from.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      tensor: an input of the towers, as a matrix of word vectors that is fed.

    Returns:
      The answer.
    """
    if graph.type(tensor.node) in PARTS:
        return False
    todo, seen, gathered = [tensor], {tensor}, False
    while todo:
        name, output = todo.pop()
        for use in graph.users(name):
            kind = graph.type(use.node)
            if graph.inputs(use.node)[use.position].output != output or kind in SHAPE_OPS:
                continue
            if kind in op_types.GATHERS and use.position == 0:
                gathered = True
                continue
            if kind != "Identity" and not _joins_rows(graph, imported, use.node):
                return False
            if TensorId(use.node, 0) not in seen:
                seen.add(TensorId(use.node, 0))
                todo.append(TensorId(use.node, 0))
    return gathered


def _joins_rows(graph: Graph, imported: ImportedGraph, name: str) -> bool:
    """Returns whether a node joins its inputs along the first dimension."""
    if graph.type(name) not in _AXES:
        return False
    axis = imported.constant(*graph.inputs(name)[_AXES[graph.type(name)]])
    return axis is not None and int(axis) == 0
