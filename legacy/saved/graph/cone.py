"""The fan-in cone of a train op: the subgraph that one training step runs, ended at its data sources.

Behind a data source lie queues, readers and files. They do not belong to the step, so the cone has a Placeholder in
place of each output of a source that it uses; and it leaves out what fills a queue or a staging area for a later step.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, NamedTuple

import tensorflow as tf

from legacy.saved.graph import op_types
from workloads.lifted.graph import Graph, TensorId, input_text
from workloads.support.errors import InputError

if TYPE_CHECKING:
    from tensorflow.core.framework.graph_pb2 import GraphDef
    from tensorflow.core.framework.node_def_pb2 import NodeDef
    from tensorflow.core.framework.tensor_shape_pb2 import TensorShapeProto

v1 = tf.compat.v1

#: Attributes with the dtypes of all outputs of a source, and with the dtype of its only output.
_DTYPE_LISTS = ("component_types", "output_types", "Tout", "dtypes")
_DTYPES = ("dtype", "Tout")


class Cone(NamedTuple):
    """The subgraph that a step runs.

    Attributes:
      graph: `Graph` in which every output of a data source is a Placeholder.
      origins: {placeholder: (name of the tensor that it replaces, op type of the source)}.
      unknown: op types that this TensorFlow does not have, sorted.
      unsafe: {node: op type} of the nodes that run Python, touch files or reach the network.
    """

    graph: Graph
    origins: dict[str, tuple[str, str]]
    unknown: list[str]
    unsafe: dict[str, str]


def extract_cone(graph: Graph, targets: Collection[str]) -> Cone:
    """Returns the `Cone` of some nodes of a graph: all that they depend on, by data or control dependencies.

    >>> graph_def = v1.GraphDef()
    >>> for name, op, inputs in [
    ...     ("queue", "FIFOQueueV2", []),
    ...     ("batch", "QueueDequeueV2", ["queue"]),
    ...     ("loss", "Square", ["batch"]),
    ...     ("train", "NoOp", ["^loss"]),
    ...     ("summary", "ScalarSummary", ["loss"]),
    ... ]:
    ...     _ = graph_def.node.add(name=name, op=op, input=inputs)
    >>> cone = extract_cone(Graph(graph_def), ["train"])
    >>> [(name, node.op) for name, node in cone.graph.nodes.items()]
    [('batch', 'Placeholder'), ('loss', 'Square'), ('train', 'NoOp')]
    >>> cone.origins
    {'batch': ('batch:0', 'QueueDequeueV2')}
    """
    sources = {name for name in graph.nodes if op_types.is_source(graph.type(name))}
    feeders = {name for name in graph.nodes if op_types.is_feeder(graph.type(name))}
    left_out = sources | feeders
    members = graph.ancestors(targets, left_out) - feeders
    result = v1.GraphDef(versions=graph.graph_def.versions, library=graph.graph_def.library)
    placeholders = _add_placeholders(result, graph, members, sources)
    for name, node in graph.nodes.items():
        if name in members and name not in left_out:
            copy = result.node.add()
            copy.CopyFrom(node)
            for number, tensor in enumerate(graph.inputs(name)):
                copy.input[number] = placeholders.get(tensor) or input_text(tensor)
            if not left_out.isdisjoint(graph.controls(name)):
                kept = ["^" + control for control in graph.controls(name) if control not in left_out]
                copy.input[len(graph.inputs(name)) :] = kept
    cone = Graph(result)
    origins = {placeholder: (tensor.name, graph.type(tensor.node)) for tensor, placeholder in placeholders.items()}
    return Cone(cone, origins, _unknown_types(cone), _unsafe_nodes(graph, cone, members & sources))


def _add_placeholders(result: GraphDef, graph: Graph, members: set[str], sources: set[str]) -> dict[TensorId, str]:
    """Adds a Placeholder for each output of a source that a member uses; returns {output: placeholder}."""
    placeholders: dict[TensorId, str] = {}
    for name in graph.nodes:
        if name in members and name in sources:
            for output in sorted({output for user, _, output in graph.users(name) if user in members}):
                placeholder = name if output == 0 else f"{name}__{output}"
                placeholders[TensorId(name, output)] = placeholder
                result.node.add().CopyFrom(_placeholder(placeholder, graph.nodes[name], output))
    return placeholders


def _unknown_types(cone: Graph) -> list[str]:
    """Returns the op types that are neither this TensorFlow's nor functions of the graph's library."""
    functions = {function.signature.name for function in cone.graph_def.library.function}
    types = {node.op for node in cone.nodes.values()}
    return sorted(op_type for op_type in types if not is_known(op_type) and op_type not in functions)


def _unsafe_nodes(graph: Graph, cone: Graph, sources: Iterable[str]) -> dict[str, str]:
    """Returns the unsafe nodes of a cone, and the unsafe sources whose inputs depend on variables.

    Such a source is Python in the middle of the model: the placeholder in its place could not be fed, and its code is
    not saved with the graph.
    """
    unsafe = {name: node.op for name, node in cone.nodes.items() if op_types.is_unsafe(node.op)}
    for name in sources:
        if op_types.is_unsafe(graph.type(name)) and _depends_on_variables(graph, name):
            unsafe[name] = graph.type(name)
    return unsafe


def _depends_on_variables(graph: Graph, name: str) -> bool:
    return any(graph.type(before) in op_types.VARIABLES for before in graph.ancestors([name], controls=False))


def is_known(op_type: str) -> bool:
    """Returns whether this TensorFlow has an op type."""
    return hasattr(tf.raw_ops, op_type)


def require_known(cone: Cone) -> None:
    """Raises `InputError` with the op types of a cone that this TensorFlow does not have."""
    if cone.unknown:
        raise InputError(
            f"graph file: TensorFlow {tf.__version__} has no op {', '.join(cone.unknown)}; a graph that needs it "
            "cannot be run here"
        )


def _placeholder(name: str, node: NodeDef, output: int) -> NodeDef:
    """Returns a Placeholder with the dtype of a source's output, and with its shape if that is known."""
    placeholder = v1.NodeDef(name=name, op="Placeholder", device=node.device)
    placeholder.attr["dtype"].type = _dtype(node, output)
    shape = _shape(node, output)
    if shape is None:
        placeholder.attr["shape"].shape.unknown_rank = True
    else:
        placeholder.attr["shape"].shape.CopyFrom(shape)
    return placeholder


def _dtype(node: NodeDef, output: int) -> int:
    """Returns the DataType number of a source's output; string, as readers have, where no attribute says."""
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
