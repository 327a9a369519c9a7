"""State that an old program fetched after each step and fed into the next: made a variable that the step assigns."""

from __future__ import annotations

import re

import numpy as np
import tensorflow as tf

from workloads.lifted.graph import Graph, split
from workloads.support.errors import require

v1 = tf.compat.v1


def carry(graph, pairs, targets):
    """The graph with placeholders as variables that a step sets to what it would have fetched.

    Args:
      graph: `Graph`.
      pairs: {placeholder: tensor that is fed into it in the next step}.
      targets: train ops; each becomes an op that also assigns.

    Returns:
      (`Graph`, train ops).

    Raises:
      InputError: a name is not in the graph, or a placeholder's shape is not known.
    """
    if not pairs:
        return graph, targets
    result = v1.GraphDef()
    result.CopyFrom(graph.graph_def)
    nodes = {node.name: node for node in result.node}
    assigns = []
    for placeholder, tensor in pairs.items():
        name = placeholder.partition(":")[0]
        require(
            name in nodes and nodes[name].op.startswith("Placeholder"), "--carry", placeholder, "no such placeholder"
        )
        require(split(tensor)[0] in nodes, "--carry", tensor, "no such tensor")
        assigns.append(_as_variable(result, nodes[name], tensor))
    made = []
    for target in targets:
        group = result.node.add(name=re.sub(r"[^A-Za-z0-9_]", "_", target) + "_and_carry", op="NoOp")
        group.input.extend("^" + name for name in [target] + assigns)
        made.append(group.name)
    return Graph(result), made


def _as_variable(graph_def, node, tensor):
    """Turns a placeholder into a variable that starts with zeros; returns the op that assigns `tensor` to it."""
    dtype = node.attr["dtype"].type
    shapes = node.attr["_output_shapes"].list.shape
    proto = shapes[0] if shapes else node.attr["shape"].shape
    shape = tf.TensorShape(proto)
    known = shape.rank is not None and shape.is_fully_defined()
    require(known, "--carry", node.name, f"its shape is {shape}, must be known")
    zeros = np.zeros(shape.as_list(), tf.as_dtype(dtype).as_numpy_dtype)
    for attribute in list(node.attr):
        del node.attr[attribute]
    del node.input[:]
    node.op = "VariableV2"
    node.attr["dtype"].type = dtype
    node.attr["shape"].shape.CopyFrom(shape.as_proto())
    initial = graph_def.node.add(name=node.name + "/zeros", op="Const")
    initial.attr["dtype"].type = dtype
    initial.attr["value"].tensor.CopyFrom(v1.make_tensor_proto(zeros))
    for name, source in ((node.name + "/Assign", initial.name), (node.name + "/carry", tensor)):
        assign = graph_def.node.add(name=name, op="Assign", input=[node.name, source])
        assign.attr["T"].type = dtype
    return node.name + "/carry"
