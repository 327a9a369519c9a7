"""The places that a slice is given, where it begins and ends along each dimension: some of them, or others for some."""

from __future__ import annotations

import tensorflow as tf

from workloads.lifted.graph import Graph, TensorId, input_text

v1 = tf.compat.v1


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


def first_places(graph: Graph, places: TensorId, count: int, name: str, result: tf.compat.v1.GraphDef) -> str:
    """Adds a vector of the first places of a slice.

    Args:
      graph: the graph that the slice is in.
      places: a vector of whole numbers, a constant or computed.
      count: how many of them.
      name: of the new node.
      result: the GraphDef that it is added to.

    Returns:
      The name.
    """
    node, known = graph.nodes[graph.origin(places).node], known_places(graph, places)[:count]
    made = result.node.add(name=name, op="Const", device=node.device)
    if known and None not in known:
        dtype = node.attr["dtype" if node.op == "Const" else "T"].type
        made.attr["dtype"].type = dtype
        made.attr["value"].tensor.CopyFrom(v1.make_tensor_proto(known, dtype))
    elif node.op == "Pack":
        made.op = "Pack"
        made.input.extend(input_text(tensor) for tensor in graph.inputs(node.name)[:count])
        made.attr["T"].CopyFrom(node.attr["T"])
        made.attr["N"].i = len(made.input)
    else:
        made.op = "Slice"
        bounds = [_vector(f"{name}/begin", 0, result), _vector(f"{name}/size", count, result)]
        made.input.extend([input_text(places), *bounds])
        made.attr["T"].type = made.attr["Index"].type = tf.int32.as_datatype_enum
    return name


def places_from_zero(graph: Graph, places: TensorId, name: str, result: tf.compat.v1.GraphDef) -> str:
    """Adds the places of a slice with 0 for the first one.

    Args:
      graph: the graph that the slice is in.
      places: a constant vector, or one that is packed of scalars.
      name: of the new node.
      result: the GraphDef that it is added to.

    Returns:
      The name.
    """
    node = graph.nodes[graph.origin(places).node]
    made = result.node.add(name=name, op=node.op, device=node.device)
    if node.op == "Const":
        numbers = tf.make_ndarray(node.attr["value"].tensor).copy()
        numbers[0] = 0
        made.attr["dtype"].CopyFrom(node.attr["dtype"])
        made.attr["value"].tensor.CopyFrom(v1.make_tensor_proto(numbers))
    else:
        zero = result.node.add(name=f"{name}/zero", op="Const")
        zero.attr["dtype"].CopyFrom(node.attr["T"])
        zero.attr["value"].tensor.CopyFrom(v1.make_tensor_proto(0, node.attr["T"].type))
        made.input.extend([zero.name, *(input_text(tensor) for tensor in graph.inputs(node.name)[1:])])
        made.attr["T"].CopyFrom(node.attr["T"])
        made.attr["N"].i = len(made.input)
    return name


def _vector(name: str, number: int, result: tf.compat.v1.GraphDef) -> str:
    """Adds a constant vector of one whole number; returns its name."""
    node = result.node.add(name=name, op="Const")
    node.attr["dtype"].type = tf.int32.as_datatype_enum
    node.attr["value"].tensor.CopyFrom(v1.make_tensor_proto([number], tf.int32))
    return name
