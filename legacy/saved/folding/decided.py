"""Computes predicates and numbers that settings and constants decide."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from workloads.lifted.graph import TWO_WAY_SWITCHES, Graph, TensorId

if TYPE_CHECKING:
    from tensorflow.core.framework.node_def_pb2 import NodeDef

#: Ops that compare two numbers.
COMPARISONS = {
    "Equal": operator.eq,
    "NotEqual": operator.ne,
    "Greater": operator.gt,
    "GreaterEqual": operator.ge,
    "Less": operator.lt,
    "LessEqual": operator.le,
}

#: Ops that join truths.
_LOGICAL = ("LogicalNot", "LogicalAnd", "LogicalOr")
#: Ops whose result has the value of their first input, in each element.
_OF_FIRST = ("Identity", "ReadVariableOp", "ExpandDims", "Reshape", *TWO_WAY_SWITCHES)


def decided_predicates(graph: Graph, values: Mapping[str, np.ndarray]) -> dict[TensorId, bool]:
    """Returns {tensor: its truth} of the settings and of what is computed from settings and constants alone.

    Followed are logical ops, comparisons of numbers and casts.
    """
    decided = {TensorId(name, 0): value.item() for name, value in values.items() if value.dtype.kind in "biu"}
    for name in graph.order(set(graph.nodes)):
        inputs = graph.inputs(name)
        if any(tensor in decided for tensor in inputs):
            known = [decided[tensor] if tensor in decided else scalar_number(graph, tensor.node) for tensor in inputs]
            value = outcome(graph.nodes[name], known)
            if value is not None:
                decided[TensorId(name, 0)] = value
                if graph.type(name) in TWO_WAY_SWITCHES:
                    decided[TensorId(name, 1)] = value
    return {tensor: value for tensor, value in decided.items() if isinstance(value, bool)}


def constant_predicates(graph: Graph) -> dict[TensorId, bool]:
    """Returns {predicate of a Switch: its truth} of those that constants alone decide, as `and` with what is false."""
    found = {}
    for name in graph.of_types(*TWO_WAY_SWITCHES):
        predicate = graph.inputs(name)[1]
        if predicate not in found:
            found[predicate] = _constant_number(graph, predicate.node)
    return {tensor: value for tensor, value in found.items() if isinstance(value, bool)}


def _constant_number(graph: Graph, name: str) -> bool | int | float | None:
    """The number that constants alone decide, whatever else a node is computed from; None if they do not."""
    kind = graph.type(name)
    if kind not in (*COMPARISONS, *_LOGICAL, "Identity", "Cast", "Const"):
        return None
    known = [_constant_number(graph, tensor.node) for tensor in graph.inputs(name)]
    if kind in ("LogicalAnd", "LogicalOr") and (kind == "LogicalOr") in known:
        return kind == "LogicalOr"
    return scalar_number(graph, name) if kind == "Const" else outcome(graph.nodes[name], known)


def scalar_number(graph: Graph, name: str) -> bool | int | float | None:
    """Returns the number that a scalar Const holds; None for any other node."""
    node = graph.nodes[name]
    if node.op != "Const" or node.attr["value"].tensor.tensor_shape.dim or not _is_number(node.attr["dtype"].type):
        return None
    number: bool | int | float = tf.make_ndarray(node.attr["value"].tensor).item()
    return number


def default_number(graph: Graph, name: str) -> bool | int | float | None:
    """Returns the number that a placeholder holds unless it is fed; None without one, and for any other node."""
    return scalar_number(graph, graph.inputs(name)[0].node) if graph.type(name) == "PlaceholderWithDefault" else None


def _is_number(dtype: int) -> bool:
    found = tf.as_dtype(dtype)
    return bool(found.is_bool or found.is_integer or found.is_floating)


def outcome(node: NodeDef, known: list[Any]) -> bool | int | float | None:
    """Returns what a logical op, a comparison or a copy makes of its inputs' values; None if one is not known.

    The outputs of a Switch have the value of its data input, where they have one, and all elements of a reshaped or
    expanded value are that value.
    """
    if None in known[:1] or (None in known and node.op not in _OF_FIRST):
        return None
    if node.op in _OF_FIRST:
        return known[0]
    if node.op == "Cast":
        return bool(known[0]) if node.attr["DstT"].type == tf.bool.as_datatype_enum else known[0]
    if node.op == "LogicalNot":
        return not known[0]
    if node.op == "LogicalAnd":
        return all(known)
    if node.op == "LogicalOr":
        return any(known)
    if node.op in COMPARISONS:
        return bool(COMPARISONS[node.op](*known))
    return None
