"""Carried state: tensors that an old program fetched after each step and fed into the next, made variables.

A program may keep a recurrent state outside its graph: it fetches the last state and feeds it into a placeholder in
the next step, or into any other tensor, such as a cell's zero state: a session feeds those, too. In the lift what is
fed becomes a variable, and the train op assigns the fetched tensor to it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf

from workloads.lifted.graph import Graph, TensorId, forget_placement, parse_tensor_name
from workloads.lifted.graph.edits import GraphCopy
from workloads.lifted.graph.old_ops import registered_op
from workloads.support.errors import InputError, require

if TYPE_CHECKING:
    from tensorflow.core.framework.node_def_pb2 import NodeDef

v1 = tf.compat.v1


def carry_state(
    graph: Graph,
    carried: Mapping[str, str],
    targets: list[str],
    shapes: Mapping[str, Sequence[int]] | None = None,
) -> tuple[Graph, list[str]]:
    """Turns tensors that were fed with the last step's results into variables that a step assigns.

    Args:
      graph: the whole graph.
      carried: {placeholder or other tensor: tensor that is fed into it in the next step}.
      targets: train ops; each is replaced by an op that also assigns the state.
      shapes: {placeholder: shape}, as recorded, for those whose shape the graph does not fully know.

    Returns:
      The changed graph and its train ops.

    Raises:
      InputError: a name is not in the graph, a placeholder's shape is not known, or the first value of another
        tensor follows from more than constants.
    """
    if not carried:
        return graph, targets
    result, assigns = GraphCopy(graph), []
    nodes = graph.nodes
    for fed, tensor in carried.items():
        name, output = parse_tensor_name(fed)
        require(name in nodes, "--carry", fed, "no such tensor")
        require(output == 0 and _has_one_output(nodes[name].op), "--carry", fed, "must be the only output of its op")
        require(parse_tensor_name(tensor)[0] in nodes, "--carry", tensor, "no such tensor")
        is_placeholder = nodes[name].op.startswith("Placeholder")
        recorded = (shapes or {}).get(fed)
        first = _zeros(nodes[name], recorded) if is_placeholder else _first_value(graph, name)
        assigns.append(_make_variable(result, name, first, tensor))
    made = []
    for target in targets:
        waits = ["^" + name for name in [target, *assigns]]
        made.append(result.add(re.sub(r"[^A-Za-z0-9_]", "_", target) + "_and_carry", "NoOp", waits).name)
    return result.graph(), made


def carrying_node(variable: str) -> str:
    """Returns the name of the op that assigns the state to a variable that was made of a fed tensor."""
    return variable + "/carry"


def _has_one_output(op_type: str) -> bool:
    """Returns whether all ops of a type have one output."""
    definition = registered_op(op_type)
    outputs = definition.output_arg if definition else []
    return len(outputs) == 1 and not outputs[0].number_attr and not outputs[0].type_list_attr


def _zeros(placeholder: NodeDef, recorded: Sequence[int] | None) -> np.ndarray:
    """Returns the zeros that a placeholder is fed with in the first step; of the recorded shape if it has none."""
    shapes = placeholder.attr["_output_shapes"].list.shape
    shape = tf.TensorShape(shapes[0] if shapes else placeholder.attr["shape"].shape)
    if recorded is not None and not shape.is_fully_defined():
        shape = tf.TensorShape(recorded)
    known = shape.rank is not None and shape.is_fully_defined()
    require(known, "--carry", placeholder.name, f"its shape is {shape}, must be known")
    return np.zeros(shape.as_list(), tf.as_dtype(placeholder.attr["dtype"].type).as_numpy_dtype)


def _first_value(graph: Graph, name: str) -> np.ndarray:
    """Returns the value of a tensor that follows from constants, which a program feeds into it in the first step."""
    part = v1.GraphDef(versions=graph.graph_def.versions)
    for member in sorted(graph.ancestors([name], controls=False)):
        definition = registered_op(graph.type(member))
        if definition is None or definition.is_stateful or graph.type(member).startswith("Placeholder"):
            raise InputError(f"--carry: got {name!r}, its first value depends on {member!r}, must be constant")
        node = part.node.add()
        node.CopyFrom(graph.nodes[member])
        forget_placement(node)
        del node.input[len(graph.inputs(member)) :]
    with tf.Graph().as_default(), v1.Session() as session:
        tf.import_graph_def(part, name="")
        return np.asarray(session.run(TensorId(name, 0).name))


def _make_variable(result: GraphCopy, name: str, first: np.ndarray, tensor: str) -> str:
    """Turns a node into a variable that starts with `first`; returns the op that assigns `tensor` to it."""
    node, dtype = result.nodes[name], tf.as_dtype(first.dtype).as_datatype_enum
    node.attr.clear()
    del node.input[:]
    node.op = "VariableV2"
    node.attr["dtype"].type = dtype
    node.attr["shape"].shape.CopyFrom(tf.TensorShape(first.shape).as_proto())
    initial = result.add_constant(name + "/first", first)
    for assign, source in ((name + "/Assign", initial), (carrying_node(name), tensor)):
        result.add(assign, "Assign", [name, source]).attr["T"].type = dtype
    return carrying_node(name)
