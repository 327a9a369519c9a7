"""Placeholders in place of what the data sources of a step give, with its dtype and shape."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import tensorflow as tf

from legacy.saved.graph.cut.equal_sources import first_equal_sources
from legacy.saved.graph.cut.texts import reads_texts
from workloads.lifted.graph import Graph, TensorId, input_text, tensor_name
from workloads.lifted.graph.old_ops import registered_op
from workloads.lifted.graph.staged_shapes import staged_shape

if TYPE_CHECKING:
    from tensorflow.core.framework.graph_pb2 import GraphDef
    from tensorflow.core.framework.node_def_pb2 import NodeDef
    from tensorflow.core.framework.tensor_shape_pb2 import TensorShapeProto

v1 = tf.compat.v1

#: Attributes with the dtypes of all outputs of a source, and with the dtype of its only output.
_DTYPE_LISTS = ("component_types", "output_types", "Tout", "dtypes")
_DTYPES = ("dtype", "Tout", "out_type")


def add_placeholders(result: GraphDef, graph: Graph, members: set[str], sources: set[str]) -> dict[TensorId, str]:
    """Adds a Placeholder for each output of a source that a member uses.

    Sources that give the same, as towers' lookups of one text, have the placeholders of the first one.

    Args:
      result: the graph that they are added to.
      graph: the whole graph.
      members: the nodes that a step runs.
      sources: the data sources.

    Returns:
      {output: placeholder}.
    """
    placeholders: dict[TensorId, str] = {}
    used = members - sources
    firsts = first_equal_sources(graph, [name for name in graph.nodes if name in members and name in sources])
    for name, first in firsts.items():
        for output in sorted({output for user, _, output in graph.users(name) if user in used}):
            placeholder = first if output == 0 else f"{first}__{output}"
            if TensorId(first, output) not in placeholders:
                placeholders[TensorId(first, output)] = placeholder
                result.node.add().CopyFrom(_placeholder(placeholder, graph, sources, first, output))
            placeholders[TensorId(name, output)] = placeholder
    return placeholders


def _placeholder(name: str, graph: Graph, sources: Collection[str], source: str, output: int) -> NodeDef:
    """Returns a Placeholder with the dtype of a source's output, and with its shape if that is known."""
    node = graph.nodes[source]
    placeholder = v1.NodeDef(name=name, op="Placeholder", device=node.device)
    placeholder.attr["dtype"].type = _dtype(node, output)
    shape = _shape_of_read_texts(graph, source, sources) or _shape(node, output) or staged_shape(graph, node, output)
    if shape is None:
        placeholder.attr["shape"].shape.unknown_rank = True
    else:
        placeholder.attr["shape"].shape.CopyFrom(shape)
    return placeholder


def _shape_of_read_texts(graph: Graph, name: str, sources: Collection[str]) -> TensorShapeProto | None:
    """Returns the shape of what an op makes of texts, which follows from theirs; None if it is not known."""
    if not reads_texts(graph, name):
        return None
    others = set(sources) - {name}
    members = graph.ancestors([name], others, controls=False)
    result = v1.GraphDef(versions=graph.graph_def.versions, library=graph.graph_def.library)
    placeholders = add_placeholders(result, graph, members, others)
    for member in members - others:
        copy = result.node.add()
        copy.CopyFrom(graph.nodes[member])
        copy.ClearField("input")
        copy.input.extend(placeholders.get(tensor) or input_text(tensor) for tensor in graph.inputs(member))
    with tf.Graph().as_default():
        try:
            (found,) = tf.import_graph_def(result, return_elements=[tensor_name(name, 0)], name="")
        except (ValueError, tf.errors.OpError):
            return None
    return found.shape.as_proto() if found.shape.rank is not None else None


def _dtype(node: NodeDef, output: int) -> int:
    """Returns the DataType number of a source's output; string, as readers have, where nothing says."""
    op = registered_op(node.op)
    if op is not None and output < len(op.output_arg) and op.output_arg[output].type:
        return op.output_arg[output].type
    for attribute in _DTYPE_LISTS:
        if node.attr[attribute].list.type:
            return node.attr[attribute].list.type[output]
    for attribute in _DTYPES:
        if node.attr[attribute].type:
            return node.attr[attribute].type
    return tf.string.as_datatype_enum


def _shape(node: NodeDef, output: int) -> TensorShapeProto | None:
    """Returns the shape of a source's output, or None if it is not known.

    A Placeholder of TensorFlow 0.x without a shape has `shape: []`, and an unknown rank only in `_output_shapes`;
    so `_output_shapes` comes first, and an empty `shape` counts from PlaceholderV2 on. A queue's `shapes` are those
    of its elements: nothing is said of a dequeue's.
    """
    recorded = node.attr["_output_shapes"].list.shape
    if len(recorded) > output:
        return _known_rank(recorded[output])
    shapes = node.attr["output_shapes"].list.shape or node.attr["shapes"].list.shape
    if len(shapes) > output and not node.op.startswith("Queue"):
        return _known_rank(shapes[output])
    shape = node.attr["shape"]
    if shape.HasField("shape") and (shape.shape.dim or node.op == "PlaceholderV2"):
        return _known_rank(shape.shape)
    return None


def _known_rank(shape: TensorShapeProto) -> TensorShapeProto | None:
    return None if shape.unknown_rank else shape
