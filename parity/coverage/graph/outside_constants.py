"""Constants of loops, and those that wait for other ops: moved out, so that a step can be given other values."""

from __future__ import annotations

import tensorflow as tf

from legacy.saved.graph.loops import enter_of_only_loop
from workloads.lifted.graph import Graph

#: Suffix of the name of a constant that was moved out of its loop, or out of its control dependencies.
OUTSIDE = "/outside"


def with_constants_outside(graph_def: tf.compat.v1.GraphDef) -> tf.compat.v1.GraphDef:
    """Moves constants out of the loops that they are in, and out of control dependencies; the graph computes the same.

    A session cannot be given a tensor inside of a loop. An Enter takes the constant's place and name there, and brings
    in the value of a constant outside, called as the one inside with `OUTSIDE` added. A constant in a loop that is
    itself inside of another stays where it is.

    A constant that is given does not wait for the ops that it depends on: where an increment of the step counter waits
    for the update, these would not run. An Identity waits in its place.

    Args:
      graph_def: the graph, which is not changed.

    Returns:
      the graph with the constants moved.
    """
    graph = Graph(graph_def)
    frames, branches = graph.frames(), graph.branches()
    moved = tf.compat.v1.GraphDef()
    moved.CopyFrom(graph_def)
    for node in list(moved.node):
        if node.op != "Const":
            continue
        floating = tf.as_dtype(node.attr["dtype"].type).is_floating
        if node.name in frames:
            enter = enter_of_only_loop(graph, node.name) if floating else None
            if enter is not None:
                _make_enter(node, _outside(moved, node), graph.nodes[enter])
        elif node.input and node.name not in branches and (floating or _is_number(node)):
            _make_identity(node, _outside(moved, node))
    return moved


def _is_number(node: tf.compat.v1.NodeDef) -> bool:
    """Whether a constant is one integer."""
    value = tf.make_ndarray(node.attr["value"].tensor)
    return bool(value.dtype.kind == "i" and value.size == 1)


def _outside(graph_def: tf.compat.v1.GraphDef, node: tf.compat.v1.NodeDef) -> tf.compat.v1.NodeDef:
    """Adds a constant of the same value that is in no loop and waits for nothing."""
    constant = graph_def.node.add(name=node.name + OUTSIDE, op="Const", device=node.device)
    for name, value in node.attr.items():
        constant.attr[name].CopyFrom(value)
    return constant


def _make_identity(node: tf.compat.v1.NodeDef, constant: tf.compat.v1.NodeDef) -> None:
    """Turns a constant's node into one that waits as it did, and then has another constant's value."""
    dtype, waits = node.attr["dtype"].type, list(node.input)
    for name in ("dtype", "value"):
        del node.attr[name]
    del node.input[:]
    node.op = "Identity"
    node.input.extend([constant.name, *waits])
    node.attr["T"].type = dtype


def _make_enter(node: tf.compat.v1.NodeDef, constant: tf.compat.v1.NodeDef, like: tf.compat.v1.NodeDef) -> None:
    """Turns a constant's node into one that brings another constant into the loop of an Enter."""
    dtype = node.attr["dtype"].type
    for name in list(node.attr):
        del node.attr[name]
    del node.input[:]
    node.op = "Enter"
    node.input.append(constant.name)
    node.attr["T"].type = dtype
    node.attr["is_constant"].b = True
    for name in ("frame_name", "parallel_iterations"):
        node.attr[name].CopyFrom(like.attr[name])
