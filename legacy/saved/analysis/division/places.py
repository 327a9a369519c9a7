"""The places that a slice is given, where it begins and ends along each dimension: some of them, or others for some."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from workloads.lifted.graph import Graph, TensorId, input_text
from workloads.lifted.graph.edits import GraphCopy

#: Masks of a slice that give its result other dimensions.
_RESHAPING = ("shrink_axis_mask", "new_axis_mask", "ellipsis_mask")


def keeps_dimensions(node: tf.compat.v1.NodeDef) -> bool:
    """Returns whether a slice has a dimension for each of those that it is taken of."""
    return not any(mask_of(node, mask) for mask in _RESHAPING)


def mask_of(node: tf.compat.v1.NodeDef, name: str) -> int:
    """Returns a mask of a slice; 0 where the graph leaves it out: asking a node for it would add an empty attribute."""
    return node.attr[name].i if name in node.attr else 0


def known_places(graph: Graph, places: TensorId) -> list[int | None]:
    """Returns the whole numbers of a vector that is a constant or packed of scalars, None for those that are computed.

    Args:
      graph: the graph that the vector is in.
      places: the vector, or a scalar; nothing is known of any other tensor.
    """
    node = graph.nodes[graph.origin(places).node]
    if node.op == "Const":
        return [int(number) for number in tf.make_ndarray(node.attr["value"].tensor).ravel()]
    if node.op != "Pack":
        return []
    scalars = [known_places(graph, tensor) for tensor in graph.inputs(node.name)]
    return [scalar[0] if len(scalar) == 1 else None for scalar in scalars]


def first_places(graph: Graph, places: TensorId, count: int, name: str, result: GraphCopy) -> str:
    """Adds a vector of the first places of a slice.

    Args:
      graph: the graph that the slice is in.
      places: a vector of whole numbers, a constant or computed.
      count: how many of them.
      name: of the new node.
      result: the copy that it is added to.

    Returns:
      The name.
    """
    node, known = graph.nodes[graph.origin(places).node], known_places(graph, places)[:count]
    if known and None not in known:
        dtype = node.attr["dtype" if node.op == "Const" else "T"].type
        return result.add_constant(name, np.array(known, tf.as_dtype(dtype).as_numpy_dtype), node.device)
    if node.op == "Pack":
        return _packed(name, [input_text(tensor) for tensor in graph.inputs(node.name)[:count]], node, result)
    ends = {"begin": [0], "size": [count]}
    bounds = [result.add_constant(f"{name}/{end}", np.array(place, np.int32)) for end, place in ends.items()]
    made = result.add(name, "Slice", [input_text(places), *bounds], node.device)
    made.attr["T"].type = made.attr["Index"].type = tf.int32.as_datatype_enum
    return name


def places_from_zero(graph: Graph, places: TensorId, name: str, result: GraphCopy) -> str:
    """Adds the places of a slice with 0 for the first one.

    Args:
      graph: the graph that the slice is in.
      places: a constant vector, or one that is packed of scalars.
      name: of the new node.
      result: the copy that it is added to.

    Returns:
      The name.
    """
    node = graph.nodes[graph.origin(places).node]
    if node.op == "Const":
        numbers = tf.make_ndarray(node.attr["value"].tensor).copy()
        numbers[0] = 0
        return result.add_constant(name, numbers, node.device)
    zero = result.add_constant(f"{name}/zero", np.array(0, tf.as_dtype(node.attr["T"].type).as_numpy_dtype))
    return _packed(name, [zero, *(input_text(tensor) for tensor in graph.inputs(node.name)[1:])], node, result)


def _packed(name: str, scalars: Sequence[str], like: tf.compat.v1.NodeDef, result: GraphCopy) -> str:
    """Adds a vector that is packed of scalars, as another one is; returns its name."""
    node = result.add(name, "Pack", scalars, like.device)
    node.attr["T"].CopyFrom(like.attr["T"])
    node.attr["N"].i = len(scalars)
    return name
