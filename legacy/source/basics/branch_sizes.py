"""Choices between branches whose values have different sizes: a `SelectV2` takes those of one size only.

A choice whose predicate is known, as one by sizes is, becomes a copy of the value that is taken. Of any other, such as
the losses above a threshold or else the n largest ones, the text computes the branch that is taken only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict

import tensorflow as tf

from legacy.source.basics.branches import GUARDED, OF_BRANCHES
from workloads.lifted.graph import parse_tensor_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np

v1 = tf.compat.v1

#: Attribute of a choice whose values differ in size: names of all ops in its branches.
APART = "_apart"


def take_known_branches(graph_def: Any, constants: Callable[[Any], Mapping[str, np.ndarray]]) -> bool:
    """Replaces the choices whose predicate is known by a copy of the value that is taken.

    Args:
      graph_def: a graph of `merge_branches`; changed.
      constants: function from a graph to {tensor: value} of its known tensors.

    Returns:
      Whether there was one.
    """
    choices = [node.name for node in graph_def.node if OF_BRANCHES in node.attr]
    known = constants(with_merges(graph_def)) if choices else {}
    found = False
    for node in graph_def.node:
        value = known.get(parse_tensor_name(node.input[0]).name) if OF_BRANCHES in node.attr else None
        if value is not None and value.shape == ():
            found, taken = True, node.input[1 if value else 2]
            node.op = "Identity"
            for name in (OF_BRANCHES, GUARDED):
                node.attr.pop(name, None)
            node.input[:] = [taken]
    return found


def with_merges(graph_def: Any) -> Any:
    """Returns a graph of `merge_branches` with a `Merge` for each choice, whose sizes are those of both branches."""
    merges = v1.GraphDef()
    merges.CopyFrom(graph_def)
    for node in merges.node:
        if OF_BRANCHES in node.attr:
            node.op = "Merge"
            node.attr["N"].i = 2
            del node.input[0]
    return merges


def may_differ(graph: tf.Graph) -> bool:
    """Returns whether the values of a choice in a graph may have different sizes."""
    choices = [op for op in graph.get_operations() if op.type == "SelectV2" and OF_BRANCHES in op.node_def.attr]
    return any(_differ(op.inputs[1], op.inputs[2]) for op in choices)


def keep_apart(graph_def: Any, merges: tf.Graph) -> None:
    """Marks the choices whose values may have different sizes, and leaves the sizes of their results open.

    Args:
      graph_def: a graph of `merge_branches`; changed.
      merges: its `with_merges`, imported.
    """
    shapes: Dict[str, Any] = {}
    for op in merges.get_operations():
        if OF_BRANCHES in op.node_def.attr and _differ(op.inputs[0], op.inputs[1]):
            shapes[op.name] = op.outputs[0].shape
    for node in [node for node in graph_def.node if node.name in shapes]:
        node.attr[APART].CopyFrom(node.attr[OF_BRANCHES])
        for position in (1, 2):
            copy = graph_def.node.add(name=f"{node.name}/value_{position}", op="PlaceholderWithDefault")
            copy.input.append(node.input[position])
            copy.attr["dtype"].CopyFrom(node.attr["T"])
            copy.attr["shape"].shape.CopyFrom(shapes[node.name].as_proto())
            node.input[position] = copy.name


def _differ(one: tf.Tensor, other: tf.Tensor) -> bool:
    """Returns whether two values may differ in size."""
    known = one.shape.is_fully_defined() and other.shape.is_fully_defined()
    return not known or one.shape != other.shape
