"""The rows of an input that a tower uses, where it cuts some of them off."""

from __future__ import annotations

from legacy.saved.graph import op_types
from legacy.saved.graph.imported import ImportedGraph
from workloads.lifted.graph import Graph, TensorId

_MASKS = ("begin", "end", "ellipsis", "new_axis", "shrink_axis")


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
    users = users_of_values(graph, tensor)
    kept = [imported.shape(name, 0) for name in users if graph.type(name) in op_types.SLICES]
    if shape and len(kept) == len(users) == 1 and kept[0] and len(kept[0]) == len(shape):
        return kept[0][0]
    return shape[0] if shape else None


def rows_needed(graph: Graph, imported: ImportedGraph, tensor: TensorId) -> int | None:
    """Returns the number of rows of which constant slices, which alone use a tensor, take parts.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      tensor: an array with any number of rows.

    Returns:
      The rows up to the end of the last slice; None where a use takes others, or where that is not known.
    """
    ends = [_end_of_slice(graph, imported, name) for name in users_of_values(graph, tensor)]
    return max((end for end in ends if end is not None), default=None) if None not in ends else None


def users_of_values(graph: Graph, tensor: TensorId) -> set[str]:
    """Returns the nodes that use a tensor, but for those that use its shape alone."""
    users = {use.node for use in graph.users(tensor.node) if use.output == tensor.output}
    return {name for name in users if graph.type(name) not in op_types.SHAPE_OPS and not _is_only_measured(graph, name)}


def _end_of_slice(graph: Graph, imported: ImportedGraph, name: str) -> int | None:
    """The row behind the last one that a slice by constants takes, counted from the first; None of any other node."""
    bounds = (
        [imported.constant(*tensor) for tensor in graph.inputs(name)[1:3]]
        if graph.type(name) in op_types.SLICES
        else []
    )
    if not bounds or any(number is None or not number.size for number in bounds):
        return None
    begin, end = (int(number[0]) for number in bounds if number is not None)
    if graph.type(name) == "Slice":
        return begin + end if end > 0 else None
    masks = graph.nodes[name].attr
    open_ = [word for word in _MASKS if word != "begin" and f"{word}_mask" in masks and masks[f"{word}_mask"].i & 1]
    return end if end > 0 and begin >= 0 and not open_ else None


def rows_of_slice(graph: Graph, imported: ImportedGraph, name: str) -> frozenset[int] | None:
    """Returns the rows that a node takes of a tensor.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      name: of the node.

    Returns:
      Their numbers; None where the node is no slice, its bounds are not constant, or a row's index is all that it has.
    """
    shape = imported.shape(*graph.inputs(name)[0]) if graph.type(name) in op_types.SLICES else None
    numbers = [imported.constant(*tensor) for tensor in graph.inputs(name)[1:]]
    if not shape or shape[0] is None or any(number is None or not number.size for number in numbers):
        return None
    begin, end, *steps = (int(number[0]) for number in numbers if number is not None)
    if graph.type(name) == "Slice":
        return frozenset(range(begin, shape[0] if end < 0 else begin + end))
    masks = {word: graph.nodes[name].attr[f"{word}_mask"].i & 1 for word in _MASKS}
    if masks["ellipsis"] or masks["new_axis"] or masks["shrink_axis"]:
        return None
    bounds = slice(None if masks["begin"] else begin, None if masks["end"] else end, steps[0])
    return frozenset(range(*bounds.indices(shape[0])))


def _is_only_measured(graph: Graph, name: str) -> bool:
    """Whether a node only copies a tensor for its shape, as the gradient of a slice does."""
    users = [use.node for use in graph.users(name)]
    return graph.type(name) == "Identity" and all(graph.type(user) in op_types.SHAPE_OPS for user in users)
