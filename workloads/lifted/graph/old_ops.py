"""Ops that TensorFlow took out of newer graph versions, replaced by their successors.

A session runs a graph by the rules of the version that it was written for, but a function has none: it is run by the
present rules, and ops that were removed since are refused. `TensorArray` of TensorFlow 0.12 is one: its handle was a
string, and is a resource now; its flow began as a constant, and is an output of the op now.
"""

from __future__ import annotations

from typing import Any, Dict

import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from workloads.lifted.graph import CONTROL_FLOW, SWITCHES
from workloads.lifted.graph import parse_tensor_name as parse
from workloads.lifted.graph.tensor_names import data_inputs

#: Ops on tensor arrays that were removed in version 26, and those that took their places, with the same inputs.
SUCCESSORS = {
    f"TensorArray{name}V2": f"TensorArray{name}V3"
    for name in ("", "Grad", "Write", "Read", "Gather", "Scatter", "Concat", "Split", "Size", "Close")
}
_HANDLES = ("TensorArrayV3", "TensorArrayGradV3")
_PASSES = CONTROL_FLOW + ("Identity",)


def registered_op(op_type: str) -> Any:
    """Returns the OpDef of an op type, or None. TensorFlow 1.x has a dict of all."""
    if hasattr(op_def_registry, "get"):
        return op_def_registry.get(op_type)
    return op_def_registry.get_registered_ops().get(op_type)


def replace_old_ops(graph_def: Any) -> None:
    """Replaces removed ops in a GraphDef by their successors.

    Args:
      graph_def: the GraphDef; changed.
    """
    old = [node for node in graph_def.node if node.op in SUCCESSORS]
    for node in old:
        node.op = SUCCESSORS[node.op]
    if old:
        _retype_handles(graph_def)
        _join_flows(graph_def)


def _join_flows(graph_def: Any) -> None:
    """Makes the flow of each array begin at its op, where it was a constant beside it; both are 0.0."""
    nodes = {node.name: node for node in graph_def.node}

    def source(text: str) -> str:
        node, seen = nodes.get(parse(text).node), set()
        while node is not None and node.op in _PASSES and node.name not in seen:
            seen.add(node.name)  # a state that a loop does not change comes back to its Merge
            node = nodes.get(parse(node.input[0]).node)
        return "" if node is None else str(node.name)

    flows: Dict[str, str] = {}
    for node in graph_def.node:
        if node.op in SUCCESSORS.values() and node.op != "TensorArrayV3":
            data = data_inputs(node)
            array, flow = source(data[0]), source(data[-1])
            if array and flow and nodes[array].op == "TensorArrayV3" and nodes[flow].op == "Const":
                flows[flow] = array
    for node in graph_def.node:
        for number, text in enumerate(node.input):
            if text in flows:
                node.input[number] = f"{flows[text]}:1"


def _retype_handles(graph_def: Any) -> None:
    """Makes every op that only hands a tensor array's handle on take a resource."""
    users: Dict[str, Any] = {}
    for node in graph_def.node:
        for text in node.input:
            if not text.startswith("^"):
                users.setdefault(parse(text).node, []).append(node)
    todo = [node for node in graph_def.node if node.op in _HANDLES]
    seen = set()
    while todo:
        node = todo.pop()
        all_outputs = node.op in SWITCHES
        for user in users.get(node.name, []):
            if user.op in _PASSES and user.name not in seen and (all_outputs or node.name in user.input):
                seen.add(user.name)
                user.attr["T"].type = tf.resource.as_datatype_enum
                todo.append(user)
