"""Carried state: tensors that an old program fetched after each step and fed into the next, made variables.

A program may keep a recurrent state outside its graph: it fetches the last state and feeds it into a placeholder in
the next step. In the lift such a placeholder becomes a variable, and the train op assigns the fetched tensor to it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import tensorflow as tf

from workloads.lifted.graph import Graph, parse_tensor_name
from workloads.support.errors import require

v1 = tf.compat.v1


def carry_state(graph: Graph, carried: Mapping[str, str], targets: list[str]) -> tuple[Graph, list[str]]:
    """Turns fed-back placeholders into variables that a step assigns.

    Args:
      graph: the whole graph.
      carried: {placeholder: tensor that is fed into it in the next step}.
      targets: train ops; each is replaced by an op that also assigns the state.

    Returns:
      The changed graph and its train ops.

    Raises:
      InputError: a name is not in the graph, or a placeholder's shape is not fully known.
    """
    if not carried:
        return graph, targets
    result = v1.GraphDef()
    result.CopyFrom(graph.graph_def)
    nodes = {node.name: node for node in result.node}
    assigns = []
    for placeholder, tensor in carried.items():
        name = placeholder.partition(":")[0]
        is_placeholder = name in nodes and nodes[name].op.startswith("Placeholder")
        require(is_placeholder, "--carry", placeholder, "no such placeholder")
        require(parse_tensor_name(tensor)[0] in nodes, "--carry", tensor, "no such tensor")
        assigns.append(_make_variable(result, nodes[name], tensor))
    made = []
    for target in targets:
        group = result.node.add(name=re.sub(r"[^A-Za-z0-9_]", "_", target) + "_and_carry", op="NoOp")
        group.input.extend("^" + name for name in [target] + assigns)
        made.append(group.name)
    return Graph(result), made


def _make_variable(graph_def: tf.compat.v1.GraphDef, node: tf.compat.v1.NodeDef, tensor: str) -> str:
    """Turns a placeholder into a variable that starts with zeros; returns the op that assigns `tensor` to it."""
    dtype = node.attr["dtype"].type
    shapes = node.attr["_output_shapes"].list.shape
    shape = tf.TensorShape(shapes[0] if shapes else node.attr["shape"].shape)
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
