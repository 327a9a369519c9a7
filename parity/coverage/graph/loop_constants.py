"""Constants inside of `while` loops: moved out of them, so that a step can be given other values."""

from __future__ import annotations

import tensorflow as tf

from legacy.saved.graph.loops import enter_of_only_loop
from workloads.lifted.graph import Graph

#: Suffix of the name of a constant that was moved out of its loop.
OUTSIDE = "/outside"


def with_loop_constants_outside(graph_def: tf.compat.v1.GraphDef) -> tf.compat.v1.GraphDef:
    """Moves floating-point constants out of the loops that they are in; the graph computes the same.

    A session cannot be given a tensor inside of a loop. An Enter takes the constant's place and name there, and brings
    in the value of a constant outside, called as the one inside with `OUTSIDE` added. A constant in a loop that is
    itself inside of another stays where it is.

    Args:
      graph_def: the graph, which is not changed.

    Returns:
      the graph with the constants moved.
    """
    graph = Graph(graph_def)
    inside = graph.frames()
    moved = tf.compat.v1.GraphDef()
    moved.CopyFrom(graph_def)
    for node in list(moved.node):
        if node.op == "Const" and node.name in inside and tf.as_dtype(node.attr["dtype"].type).is_floating:
            enter = enter_of_only_loop(graph, node.name)
            if enter is not None:
                constant = moved.node.add(name=node.name + OUTSIDE, op="Const", device=node.device)
                for name, value in node.attr.items():
                    constant.attr[name].CopyFrom(value)
                _make_enter(node, constant, graph.nodes[enter])
    return moved


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
