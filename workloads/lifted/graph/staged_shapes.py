"""Shapes of what a staging area hands out: those of what the graph puts into it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow as tf

from workloads.lifted.graph.graph import Graph

if TYPE_CHECKING:
    from tensorflow.core.framework.node_def_pb2 import NodeDef
    from tensorflow.core.framework.tensor_shape_pb2 import TensorShapeProto

#: Ops that take from a staging area, whose own shapes no attribute keeps.
TAKERS = ("Unstage", "StagePeek")


def staged_shape(graph: Graph, node: NodeDef, output: int) -> TensorShapeProto | None:
    """Returns the shape of an output of an op that takes from a staging area.

    Args:
      graph: the whole graph, with the ops that put something into the area.
      node: a node of the graph.
      output: number of the output.

    Returns:
      The shape that all ops which put something into the area agree on, with sizes that differ left open; None if one
      of them is not known, if their ranks differ, or of another op.
    """
    if node.op not in TAKERS:
        return None
    area = _area(node)
    puts = [name for name, other in graph.nodes.items() if other.op == "Stage" and _area(other) == area]
    shapes = [_put_shape(graph, name, output) for name in puts]
    sizes = [[dim.size for dim in shape.dim] for shape in shapes if shape is not None]
    if not sizes or len(sizes) < len(shapes) or len(set(map(len, sizes))) > 1:
        return None
    agreed = [dims[0] if len(set(dims)) == 1 and dims[0] >= 0 else None for dims in zip(*sizes)]
    return tf.TensorShape(agreed).as_proto()


def _area(node: NodeDef) -> list[bytes]:
    return [node.attr["container"].s, node.attr["shared_name"].s or node.name.encode()]


def _put_shape(graph: Graph, name: str, output: int) -> TensorShapeProto | None:
    """The recorded shape of what a `Stage` op puts in as an output; None if it is not known."""
    inputs = graph.inputs(name)
    if len(inputs) <= output:
        return None
    recorded = graph.nodes[inputs[output].node].attr["_output_shapes"].list.shape
    known = len(recorded) > inputs[output].output and not recorded[inputs[output].output].unknown_rank
    return recorded[inputs[output].output] if known else None
