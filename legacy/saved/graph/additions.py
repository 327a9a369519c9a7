"""Sums by other ops than `AddN`: NCCL's all-reduce, and `tf.accumulate_n` by one op or in a temporary variable.

NCCL has one op on each device, and no edge between them; the ops of one sum have one name in common.
"""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING

import tensorflow as tf

from workloads.lifted.graph.tensor_names import control_inputs

if TYPE_CHECKING:
    from tensorflow.core.framework.graph_pb2 import GraphDef
    from tensorflow.core.framework.node_def_pb2 import NodeDef

#: The op type of a sum over devices by NCCL.
ALL_REDUCE = "NcclAllReduce"


def add_up_all_reduced(graph_def: GraphDef) -> frozenset[str]:
    """Makes each op of a sum by NCCL an `AddN` of what all devices give, so that the data flow shows the sum.

    CPUs have no NCCL. A group that is not complete, or that takes a maximum, stays as it is.

    Returns:
      The names of these ops.
    """
    changed: set[str] = set()
    groups: dict[bytes, list[NodeDef]] = collections.defaultdict(list)
    for node in graph_def.node:
        if node.op == ALL_REDUCE and node.attr["reduction"].s == b"sum":
            groups[node.attr["shared_name"].s].append(node)
    for group in groups.values():
        inputs = [name for node in group for name in node.input[:1] if not name.startswith("^")]
        if not len(inputs) == len(group) == group[0].attr["num_devices"].i:
            continue
        for node in group:
            node.input[:] = [*inputs, *control_inputs(node)]
            node.op = "AddN"
            for attribute in ("reduction", "num_devices", "shared_name"):
                node.attr.pop(attribute, None)
            node.attr["N"].i = len(inputs)
            changed.add(node.name)
    return frozenset(changed)


def add_up_accumulated(graph_def: GraphDef) -> None:
    """Makes each `AccumulateNV2` an `AddN` of the same inputs.

    A session of 1.x rewrites that op, which has no kernel, to additions in whatever order its inputs arrive in.
    """
    for node in graph_def.node:
        if node.op == "AccumulateNV2":
            node.op = "AddN"
            node.attr.pop("shape", None)


def add_up_in_temporary_variables(graph_def: GraphDef) -> None:
    """Makes each sum in a temporary variable an `AddN` of what is added to it, and removes the variable's ops.

    So `tf.accumulate_n` computed before TensorFlow 1.5, and gradients by `EXPERIMENTAL_ACCUMULATE_N`: a variable is set
    to zeros and added to in any order; the op that destroys it gives the sum.
    """
    nodes = {node.name: node for node in graph_def.node}
    users: dict[str, list[NodeDef]] = collections.defaultdict(list)
    for node in graph_def.node:
        for name in node.input:
            users[_node(name)].append(node)
    removed: set[str] = set()
    for node in graph_def.node:
        sum_of = _accumulated(node, nodes, users) if node.op == "DestroyTemporaryVariable" else None
        if sum_of is None:
            continue
        updates, own = sum_of
        controls = [name for name in control_inputs(node) if _node(name) not in own]
        node.input[:] = [*(update.input[1] for update in updates), *controls]
        node.op = "AddN"
        node.attr["N"].i = len(updates)
        node.attr.pop("var_name", None)
        removed |= own
    _remove(graph_def, removed)


def _accumulated(
    end: NodeDef, nodes: dict[str, NodeDef], users: dict[str, list[NodeDef]]
) -> tuple[list[NodeDef], set[str]] | None:
    """The ops that add to a temporary variable, and the names of all its ops; None where other ops use or change it.

    Args:
      end: the op that destroys the variable.
      nodes: the graph's nodes by name.
      users: the nodes that take a node's results, by its name.
    """
    start = _before(end, 0, nodes)
    variable, zeros = _before(start, 0, nodes), _before(start, 1, nodes)
    if start.op != "Assign" or variable.op != "TemporaryVariable":
        return None
    updates = [user for user in users[start.name] if user is not end]
    waited_for = {_node(name) for name in control_inputs(end)}
    is_sum = _is_zero(zeros) and all(
        update.op == "AssignAdd"
        and update.name in waited_for
        and len(update.input) > 1
        and _node(update.input[0]) == start.name
        for update in updates
    )
    if not updates or not is_sum or any(user is not end for update in updates for user in users[update.name]):
        return None
    own = {start.name, variable.name} | {update.name for update in updates}
    # The zeros are made for the variable, like whichever term arrives first; for a known shape they are a constant.
    first = [user for user in users[_node(updates[0].input[1])] if user.op == "Merge"]
    for node in (zeros, _before(zeros, 0, nodes), *(node for node in first if not users[node.name])):
        if node.op in ("ZerosLike", "Const", "Merge") and all(user.name in own for user in users[node.name]):
            own.add(node.name)
    return updates, own


def _is_zero(node: NodeDef) -> bool:
    """Whether a node gives zeros alone."""
    if node.op != "Const":
        return node.op == "ZerosLike"
    tensor = node.attr["value"].tensor
    return bool(tensor.dtype) and not tf.make_ndarray(tensor).any()


def _before(node: NodeDef, place: int, nodes: dict[str, NodeDef]) -> NodeDef:
    """The node that an input is a result of; one without a name if a damaged graph lacks the input or the node."""
    name = _node(node.input[place]) if place < len(node.input) else ""
    return nodes[name] if name in nodes else type(node)()


def _remove(graph_def: GraphDef, names: set[str]) -> None:
    """Removes nodes from a graph, and the wish of other nodes to be on their device."""
    if not names:
        return
    places = {f"loc:@{name}".encode() for name in names}
    kept = [node for node in graph_def.node if node.name not in names]
    for node in kept:
        if "_class" in node.attr and places.intersection(node.attr["_class"].list.s):
            wishes = [wish for wish in node.attr["_class"].list.s if wish not in places]
            del node.attr["_class"]
            if wishes:
                node.attr["_class"].list.s.extend(wishes)
    rest = type(graph_def)(node=kept)
    del graph_def.node[:]
    graph_def.node.extend(rest.node)


def _node(name: str) -> str:
    """The node that an input such as `^a` or `a:1` names."""
    return name.lstrip("^").partition(":")[0]
