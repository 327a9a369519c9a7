"""Constants in loops, in branches, and behind other ops: moved out, so that a step can be given other values."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from legacy.saved.graph.conditions import Branch, enclosing_conditions
from legacy.saved.graph.loops import enter_of_only_loop
from workloads.lifted.graph import Graph

#: Suffix of the name of a constant that was moved out of its loop, its branches, or its control dependencies.
OUTSIDE = "/outside"

#: Suffix of the name of the Enter that brings such a constant into its loop.
_INTO_LOOP = f"{OUTSIDE}/into_loop"


def with_constants_outside(graph_def: tf.compat.v1.GraphDef) -> tf.compat.v1.GraphDef:
    """Moves constants out of the loops and branches that they are in, and out of control dependencies.

    A session cannot be given a tensor inside of a loop. An Enter brings in the value of a constant outside, called as
    the one inside with `OUTSIDE` added, and an Identity takes the constant's place and name, which waits for what the
    constant waited for: an Enter has its value in each iteration, and where that is the next iteration's, the loop
    would never end. A constant in a loop that is itself inside of another stays where it is.

    A constant that is given does not wait for the ops that it depends on: where an increment of the step counter waits
    for the update, these would not run, and in a branch of a `cond` the result would be the constant's whichever branch
    is taken. An Identity waits in its place. In a branch, the value enters by Switches, as other data do, so that what
    depends on the constant is seen to depend on the predicate too. A constant of a `cond` inside of a loop stays.

    Args:
      graph_def: the graph, which is not changed.

    Returns:
      The graph with the constants moved, which computes the same.
    """
    graph = Graph(graph_def)
    frames = graph.frames()
    moved = tf.compat.v1.GraphDef()
    moved.CopyFrom(graph_def)
    for node in list(moved.node):
        if node.op != "Const":
            continue
        branches = _branches_outside_of_loops(graph, node.name)
        floating = tf.as_dtype(node.attr["dtype"].type).is_floating
        if branches is None:
            continue
        if node.name in frames:
            enter = enter_of_only_loop(graph, node.name) if floating else None
            if enter is not None:
                value = _value_outside(moved, node, branches)
                _make_identity(node, _value_in_loop(moved, node, value, graph.nodes[enter]))
        elif node.input and (floating or _is_number(node)):
            _make_identity(node, _value_outside(moved, node, branches))
    return moved


def place_of(constant: str) -> str:
    """Returns the name of the node that has a constant's value where the graph uses it.

    >>> place_of("cond/factor/outside"), place_of("rate")
    ('cond/factor', 'rate')
    """
    return constant.removesuffix(OUTSIDE)


def _branches_outside_of_loops(graph: Graph, name: str) -> list[Branch] | None:
    """The branches that a node is in, the outermost first; None if they are not nested, or one is inside of a loop."""
    levels = enclosing_conditions(graph, name)
    branches = [branch for level in levels for branch in level]
    in_loop = any(branch.predicate.node in graph.frames() for branch in branches)
    return None if in_loop or len(branches) > len(levels) else branches


def _is_number(node: tf.compat.v1.NodeDef) -> bool:
    """Whether a constant is one integer."""
    value = tf.make_ndarray(node.attr["value"].tensor)
    return bool(value.dtype.kind == "i" and value.size == 1)


def _value_outside(graph_def: tf.compat.v1.GraphDef, node: tf.compat.v1.NodeDef, branches: Sequence[Branch]) -> str:
    """Adds a constant of the same value that waits for nothing; returns the tensor that brings it into branches."""
    constant = graph_def.node.add(name=node.name + OUTSIDE, op="Const", device=node.device)
    for name, value in node.attr.items():
        constant.attr[name].CopyFrom(value)
    tensor = constant.name
    for depth, branch in enumerate(branches):
        name = f"{constant.name}/into_{depth}"
        switch = graph_def.node.add(name=name, op="Switch", input=[tensor, branch.predicate.name], device=node.device)
        switch.attr["T"].type = node.attr["dtype"].type
        tensor = f"{name}:{branch.value}"
    return tensor


def _make_identity(node: tf.compat.v1.NodeDef, value: str) -> None:
    """Turns a constant's node into one that waits as it did, and then has the value of a tensor."""
    dtype, waits = node.attr["dtype"].type, list(node.input)
    for name in ("dtype", "value"):
        del node.attr[name]
    node.op = "Identity"
    node.input[:] = [value, *waits]
    node.attr["T"].type = dtype


def _value_in_loop(
    graph_def: tf.compat.v1.GraphDef, node: tf.compat.v1.NodeDef, value: str, like: tf.compat.v1.NodeDef
) -> str:
    """Adds an Enter that brings a constant's value into the loop of another Enter; returns its name."""
    enter = graph_def.node.add(name=node.name + _INTO_LOOP, op="Enter", input=[value], device=node.device)
    enter.attr["T"].type = node.attr["dtype"].type
    enter.attr["is_constant"].b = True
    for name in ("frame_name", "parallel_iterations"):
        enter.attr[name].CopyFrom(like.attr[name])
    return enter.name
