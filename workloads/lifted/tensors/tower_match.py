"""Tensors of another tower that correspond to the first one's: both are walked back from their losses, op by op."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, Optional, Tuple

from workloads.lifted.graph import Graph, TensorId

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


def match_tower(
    graph: Graph, ends: Iterable[Tuple[TensorId, TensorId]], start: Collection[str]
) -> dict[TensorId, TensorId]:
    """Matches a tower's forward pass with the first one's.

    Args:
      graph: of the lift.
      ends: (tensor of the first tower, tensor of the other) that correspond, such as losses.
      start: nodes at which forward passes begin.

    Returns:
      {tensor of the first tower: tensor of the other}, as far as both are made by ops of the same types.

    >>> from tensorflow.core.framework import graph_pb2, node_def_pb2
    >>> def node(name, op, *inputs):
    ...     return node_def_pb2.NodeDef(name=name, op=op, input=inputs)
    >>> nodes = [node("x", "Placeholder"), node("x_1", "Placeholder")]
    >>> nodes += [node("y", "Relu", "x"), node("y_1", "Relu", "x_1"), node("l", "Neg", "y"), node("l_1", "Neg", "y_1")]
    >>> found = match_tower(Graph(graph_pb2.GraphDef(node=nodes)), [(TensorId("l", 0), TensorId("l_1", 0))], {"x"})
    >>> {one.node: other.node for one, other in found.items()}
    {'l': 'l_1', 'y': 'y_1', 'x': 'x_1'}
    """
    found: Dict[TensorId, TensorId] = {}
    todo = list(ends)[::-1]
    while todo:
        first, other = todo.pop()
        pair = _past_copies(graph, first, other)
        if pair is None or pair[0] in found:
            continue
        first, other = pair
        found[first] = other
        if first.node not in start:
            todo += list(zip(graph.inputs(first.node), graph.inputs(other.node)))[::-1]
    return found


def _past_copies(graph: Graph, first: TensorId, other: TensorId) -> Optional[Tuple[TensorId, TensorId]]:
    """Returns two tensors of ops of one type, behind copies that only one tower makes; None if they do not match."""
    while graph.type(first.node) != graph.type(other.node):
        if graph.type(first.node) == "Identity":
            first = graph.inputs(first.node)[0]
        elif graph.type(other.node) == "Identity":
            other = graph.inputs(other.node)[0]
        else:
            return None
    return (first, other) if first.output == other.output else None
