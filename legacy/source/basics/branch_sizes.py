"""Choices between branches whose values have different sizes: a `SelectV2` takes those of one size only.

A choice whose predicate is known, as one by sizes is, becomes a copy of the value that is taken. Of any other, such as
the losses above a threshold or else the n largest ones, the text computes the branch that is taken only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, AbstractSet, Any, Dict, Set

import tensorflow as tf

from legacy.source.basics.branches import GUARDED, OF_BRANCHES
from workloads.lifted.graph import Graph, parse_tensor_name
from workloads.support.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np

v1 = tf.compat.v1

#: Attribute of a choice whose values differ in size: names of all ops in its branches.
APART = "_apart"


def take_known_branches(graph_def: Any, constants: Callable[[Any], Mapping[str, np.ndarray]]) -> bool:
    """Replaces the choices whose predicate is known by a copy of the value that is taken, and removes the other branch.

    That one may not go with the sizes, such as a CRF's for sequences of one word: its predicate is then known from the
    ops before it.

    Args:
      graph_def: a graph of `merge_branches`; changed.
      constants: function from a graph to {tensor: value} of its known tensors.

    Returns:
      Whether there was one.
    """
    choices = [node for node in graph_def.node if OF_BRANCHES in node.attr]
    if not choices:
        return False
    try:
        known = constants(with_merges(graph_def))
    except InputError:
        known = constants(with_merges(_before_branches(graph_def, choices)))
    found = False
    inside: Set[str] = set()
    for node in graph_def.node:
        value = known.get(parse_tensor_name(node.input[0]).name) if OF_BRANCHES in node.attr else None
        if value is not None and value.shape == ():
            taken = node.input[1 if value else 2]
            inside.update(name.decode() for name in node.attr[OF_BRANCHES].list.s)
            node.op, found = "Identity", True
            for name in (OF_BRANCHES, GUARDED):
                node.attr.pop(name, None)
            node.input[:] = [taken]
    _remove_unused(graph_def, inside)
    return found


def _before_branches(graph_def: Any, choices: Sequence[Any]) -> Any:
    """Returns the part of a graph that computes the predicates of the choices that are in no other choice's branch."""
    inside = {name.decode() for node in choices for name in node.attr[OF_BRANCHES].list.s}
    predicates = {parse_tensor_name(node.input[0]).node for node in choices if node.name not in inside}
    before = Graph(graph_def).ancestors(predicates)
    return v1.GraphDef(node=[node for node in graph_def.node if node.name in before], versions=graph_def.versions)


def _remove_unused(graph_def: Any, names: AbstractSet[str]) -> None:
    """Removes those of some ops from a graph that no other op needs."""
    used = Graph(graph_def).ancestors({node.name for node in graph_def.node} - names) if names else set()
    kept = [node for node in graph_def.node if node.name in used or node.name not in names]
    if len(kept) < len(graph_def.node):
        nodes = v1.GraphDef(node=kept).node
        del graph_def.node[:]
        graph_def.node.extend(nodes)


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
