"""The number of rows of an input that a tower uses, where it cuts some of them off."""

from __future__ import annotations

from legacy.saved.graph import op_types
from legacy.saved.graph.imported import ImportedGraph
from workloads.lifted.graph import Graph, TensorId

_SLICES = ("StridedSlice", "Slice")


def rows_used(graph: Graph, imported: ImportedGraph, tensor: TensorId) -> int | None:
    """Returns the number of rows that a tower computes with.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      tensor: what enters the tower.

    Returns:
      The rows of the one slice through which alone the tensor is used, if it has as many dimensions, else the tensor's;
      None where that is not known.
    """
    shape = imported.shape(*tensor)
    users = [use.node for use in graph.users(tensor.node) if use.output == tensor.output]
    users = [
        name for name in users if graph.type(name) not in op_types.SHAPE_OPS and not _is_only_measured(graph, name)
    ]
    kept = [imported.shape(name, 0) for name in users if graph.type(name) in _SLICES]
    if shape and len(kept) == len(set(users)) == 1 and kept[0] and len(kept[0]) == len(shape):
        return kept[0][0]
    return shape[0] if shape else None


def _is_only_measured(graph: Graph, name: str) -> bool:
    """Whether a node only copies a tensor for its shape, as the gradient of a slice does."""
    users = [use.node for use in graph.users(name)]
    return graph.type(name) == "Identity" and all(graph.type(user) in op_types.SHAPE_OPS for user in users)
