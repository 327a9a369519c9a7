"""Shapes of arrays whose rank TensorFlow does not know, by the op that slices them and the ops that take them."""

from __future__ import annotations

from typing import Optional, Tuple

from legacy.saved.graph.imported import ImportedGraph
from workloads.lifted.graph import Graph, TensorId

#: A shape, with None for unknown dimensions.
Shape = Tuple[Optional[int], ...]
#: {op type: rank of its first input}.
_RANKS = {"Conv2D": 4, "DepthwiseConv2dNative": 4, "MaxPool": 4, "AvgPool": 4, "Conv3D": 5, "MaxPool3D": 5, "MatMul": 2}
#: {(op type, number of an input after the first): its rank}, as of labels and of lengths of sequences.
_RANKS_OF_OTHERS = {
    ("SparseSoftmaxCrossEntropyWithLogits", 1): 1,
    ("InTopK", 1): 1,
    ("InTopKV2", 1): 1,
    ("ReverseSequence", 1): 1,
    ("CTCLoss", 3): 1,
    ("CTCLossV2", 3): 1,
}
#: Op types whose second input has an entry, or a row, for each dimension of the first.
_PER_DIMENSION = ("Slice", "Transpose", "Tile", "Pad", "PadV2", "MirrorPad")
#: Op types whose second input is a filter [..., channels, units].
_FILTERED = ("Conv2D", "DepthwiseConv2dNative", "Conv3D")
#: Masks of a StridedSlice with which its result has not one dimension for each range.
_OTHER_RANKS = ("ellipsis_mask", "new_axis_mask")


def known_shape(graph: Graph, imported: ImportedGraph, tensor: TensorId) -> Shape | None:
    """Returns a tensor's static shape; without one, what its slice and the ops that take it tell of it.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      tensor: the tensor.

    Returns:
      The shape, with None for unknown dimensions; None if not even its rank is known.
    """
    static = imported.shape(*tensor)
    if static is not None:
        return static
    taken = _shape_that_is_taken(graph, imported, tensor)
    sliced = _rank_of_slice(graph, imported, tensor.node)
    if sliced is None or (taken is not None and len(taken) == sliced):
        return taken
    return (None,) * sliced


def is_slice(graph: Graph, imported: ImportedGraph, tensor: TensorId) -> bool:
    """Returns whether a tensor is cut out of an array.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      tensor: the tensor.

    Returns:
      True for rows or the like of an array; False for a single number of it, and for what other ops make.
    """
    kind = graph.type(tensor.node)
    if kind == "StridedSlice":
        begin = imported.constant(*graph.inputs(tensor.node)[1])
        return begin is not None and _mask(graph, tensor.node, "shrink_axis_mask") != 2**begin.size - 1
    return kind in ("Slice", "Split", "SplitV")


def _rank_of_slice(graph: Graph, imported: ImportedGraph, name: str) -> int | None:
    """Returns the rank of x[a:b, :, :], by its ranges; a single range may be followed by any number of dimensions."""
    if graph.type(name) != "StridedSlice" or any(_mask(graph, name, mask) for mask in _OTHER_RANKS):
        return None
    begin = imported.constant(*graph.inputs(name)[1])
    if begin is None or begin.size < 2:
        return None
    return int(begin.size) - bin(_mask(graph, name, "shrink_axis_mask")).count("1")


def _shape_that_is_taken(graph: Graph, imported: ImportedGraph, tensor: TensorId) -> Shape | None:
    """Returns the shape that the ops demand which take a tensor as it is: its rank, and the channels of a filter."""
    for user, position, output in graph.users(tensor.node):
        kind = graph.type(user)
        if output == tensor.output and (kind, position) in _RANKS_OF_OTHERS:
            return (None,) * _RANKS_OF_OTHERS[kind, position]
        if output != tensor.output or position:
            continue
        if kind in _PER_DIMENSION:
            entries = imported.shape(*graph.inputs(user)[1])
            if entries and entries[0] is not None:
                return (None,) * entries[0]
        if kind not in _RANKS:
            continue
        shape: list[int | None] = [None] * _RANKS[kind]
        attributes = graph.nodes[user].attr
        channels_last = not attributes["data_format"].s.startswith(b"NC") if "data_format" in attributes else True
        filters = imported.shape(*graph.inputs(user)[1]) if kind in _FILTERED else None
        if filters is not None:
            shape[-1 if channels_last else 1] = filters[-2]
        return tuple(shape)
    return None


def _mask(graph: Graph, name: str, mask: str) -> int:
    attributes = graph.nodes[name].attr
    return int(attributes[mask].i) if mask in attributes else 0
