"""Constants inside of `while` loops: moved out of them, so that a step can be given other values."""

from __future__ import annotations

import tensorflow as tf

from legacy.saved.graph.loops import nearest_enters
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
            enter = _enter_of_only_loop(graph, node.name, inside)
            if enter is not None:
                constant = moved.node.add(name=node.name + OUTSIDE, op="Const", device=node.device)
                for name, value in node.attr.items():
                    constant.attr[name].CopyFrom(value)
                _make_enter(node, constant, enter)
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


def _enter_of_only_loop(graph: Graph, name: str, inside: set[str]) -> tf.compat.v1.NodeDef | None:
    """Returns an Enter of the loop that a node is in; None if it is in several, or in one inside of another."""
    enters = [graph.nodes[enter] for enter in nearest_enters(graph, name)]
    frames = {enter.attr["frame_name"].s for enter in enters}
    nested = any(tensor.node in inside for enter in enters for tensor in graph.inputs(enter.name))
    return enters[0] if len(frames) == 1 and not nested else None
