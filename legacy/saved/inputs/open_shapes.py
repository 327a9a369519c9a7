"""Shapes of arrays whose rank TensorFlow does not know, by the op that slices them and the ops that take them."""

from __future__ import annotations

from typing import Optional, Tuple

from legacy.saved.graph import op_types
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
#: Op types that put rows and columns around their first input.
_PADDINGS = ("Pad", "PadV2", "MirrorPad")
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
    shape = imported.shape(*tensor)
    if shape is None:
        shape = _shape_that_is_taken(graph, imported, tensor)
        sliced = _rank_of_slice(graph, imported, tensor.node)
        if sliced is not None and (shape is None or len(shape) != sliced):
            shape = (None,) * sliced
    shape = _with_recorded(graph, tensor, shape)
    return None if shape is None else _with_channels(graph, imported, tensor, shape)


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
    return kind in op_types.PARTS


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
        filtered = _shape_that_is_filtered(graph, imported, user)
        if filtered is not None:
            return filtered
    return None


def _shape_that_is_filtered(graph: Graph, imported: ImportedGraph, user: str) -> Shape | None:
    """Returns the shape that an op demands of its first input: the rank, and a filter's channels; None if of neither.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      user: the op.
    """
    kind = graph.type(user)
    if kind not in _RANKS:
        return None
    shape: list[int | None] = [None] * _RANKS[kind]
    attributes = graph.nodes[user].attr
    channels_last = not attributes["data_format"].s.startswith(b"NC") if "data_format" in attributes else True
    filters = imported.shape(*graph.inputs(user)[1]) if kind in op_types.CONVOLUTIONS else None
    if filters is not None:
        shape[-1 if channels_last else 1] = filters[-2]
    return tuple(shape)


def _with_recorded(graph: Graph, tensor: TensorId, shape: Shape | None) -> Shape | None:
    """Returns a shape with those sizes that the program knew of a slice, and the graph does not show.

    Python sets shapes that no op has, as of what `tf.cond` or `tf.map_fn` gives, by `set_shape`.

    Args:
      graph: the subgraph that a step runs.
      tensor: the tensor.
      shape: as far as it is known.

    Returns:
      The shape; the same one if nothing is recorded, or something else.
    """
    attributes = graph.nodes[tensor.node].attr
    recorded = attributes["_output_shapes"].list.shape if "_output_shapes" in attributes else ()
    if len(recorded) <= tensor.output or recorded[tensor.output].unknown_rank:
        return shape
    sizes = tuple(dim.size if dim.size >= 0 else None for dim in recorded[tensor.output].dim)
    if shape is None:
        return sizes
    if len(shape) != len(sizes) or any(None not in pair and pair[0] != pair[1] for pair in zip(shape, sizes)):
        return shape
    return tuple(size if size is not None else other for size, other in zip(shape, sizes))


def _with_channels(graph: Graph, imported: ImportedGraph, tensor: TensorId, shape: Shape) -> Shape:
    """Returns a shape with the channels of the filter that takes a tensor, also behind a padding, if they are open.

    What `tf.cond` or `tf.map_fn` gives, as augmented images, has a rank alone.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      tensor: the tensor.
      shape: its static shape.

    Returns:
      The shape; the same one if nothing is open, or no filter takes the tensor.
    """
    if None not in shape[1:]:
        return shape
    for user, position, output in graph.users(tensor.node):
        if output != tensor.output or position:
            continue
        kind = graph.type(user)
        if kind in _PADDINGS:
            taken: Shape | None = _with_channels(graph, imported, TensorId(user, 0), shape)
            padded = imported.constant(*graph.inputs(user)[1])
            places = [place for place, size in enumerate(shape) if padded is None or padded[place].any()]
            taken = tuple(None if place in places else size for place, size in enumerate(taken or ()))
        else:
            taken = _shape_that_is_filtered(graph, imported, user)
        if taken is not None and len(taken) == len(shape):
            shape = tuple(size if size is not None else other for size, other in zip(shape, taken))
    return shape


def _mask(graph: Graph, name: str, mask: str) -> int:
    attributes = graph.nodes[name].attr
    return int(attributes[mask].i) if mask in attributes else 0
