"""Nodes of a step that only order others, or only check data: no result of theirs is used, and they change nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from legacy.saved.graph import op_types
from legacy.saved.graph.assignments import ASSIGNMENTS
from workloads.lifted.graph import TWO_WAY_SWITCHES, Graph
from workloads.lifted.graph.old_ops import registered_op

if TYPE_CHECKING:
    from tensorflow.core.framework.node_def_pb2 import NodeDef


def is_update(graph: Graph, name: str) -> bool:
    """Returns whether a node changes a variable."""
    return op_types.is_apply(graph.type(name)) or graph.type(name).startswith(ASSIGNMENTS)


def idle_behind_python(graph: Graph, members: Collection[str], targets: Collection[str]) -> set[str]:
    """Returns the nodes after Python functions that only order others.

    Such as the number that a clock in Python returned, of which a step's ops are control dependencies.

    Args:
      graph: the whole graph.
      members: the nodes that a step runs.
      targets: the train ops.

    Returns:
      Their names.
    """
    python = [name for name in members if graph.type(name) in op_types.PYTHON]
    behind = graph.descendants(python, controls=False) & set(members)
    return idle_nodes(graph, behind, members, set(targets))


def idle_nodes(
    graph: Graph,
    names: Iterable[str],
    members: Collection[str],
    kept: Collection[str] = (),
    checks: Collection[str] = (),
) -> set[str]:
    """Returns those of some nodes that change nothing, and of which no other node takes a result.

    A constant in a branch of a `cond` waits for the branch, and is there in no other: what it waits for is not idle.

    Args:
      graph: the whole graph.
      names: the nodes.
      members: the nodes that a step runs.
      kept: nodes that are not idle, whatever they do.
      checks: types of ops that are idle though they have an effect, such as to stop the step.

    Returns:
      Their names.
    """
    idle: set[str] = set()
    for name in reversed(graph.order(set(names))):
        users = [use.node for use in graph.users(name)]
        users += graph.after(name) if _begins_branch(graph, name) else []
        taken = any(user in members and user not in idle for user in users)
        if not taken and name not in kept and (graph.type(name) in checks or not _changes(graph, name)):
            idle.add(name)
    return idle


def make_idle(node: NodeDef, controls: Iterable[str]) -> None:
    """Makes a node a `NoOp` that waits for others.

    Args:
      node: is changed.
      controls: names of the nodes that it waits for.
    """
    name, device = node.name, node.device
    node.Clear()
    node.name, node.op, node.device = name, "NoOp", device
    node.input.extend("^" + before for before in controls)


def _begins_branch(graph: Graph, name: str) -> bool:
    """Whether a node runs in one branch only since it takes what a `Switch` hands to it."""
    return any(graph.type(tensor.node) in TWO_WAY_SWITCHES for tensor in graph.inputs(name))


def _changes(graph: Graph, name: str) -> bool:
    definition = registered_op(graph.type(name))
    return definition is None or definition.is_stateful or is_update(graph, name)
