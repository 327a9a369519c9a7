"""Values that are differentiated inside of a loss: a gradient penalty needs their derivative, and not them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Sequence

from legacy.saved.graph.differentiation import gradient_starts
from workloads.lifted.graph import Graph, TensorId, parse_tensor_name
from workloads.lifted.graph.edits import GraphCopy
from workloads.lifted.graph.tensor_names import data_inputs
from workloads.lifted.tensors.gradient_names import gradient_scope

if TYPE_CHECKING:
    from collections.abc import Collection


def inner_targets(graph: Graph, ends: Sequence[str], stop: Collection[str] = ()) -> Dict[str, List[str]]:
    """Finds the values that are differentiated on the way to some tensors.

    Args:
      graph: of the lift.
      ends: names of the tensors.
      stop: nodes that are given, and not searched.

    Returns:
      {name scope of a gradient graph: names of the differentiated tensors that the graph has}.
    """
    members = graph.ancestors([parse_tensor_name(tensor).node for tensor in ends], stop, controls=False)
    found: Dict[str, List[str]] = {}
    for root, targets in gradient_starts(graph, members).items():
        found.setdefault(gradient_scope(root) or "", []).extend(TensorId(name, 0).name for name in targets)
    return {scope: list(dict.fromkeys(targets)) for scope, targets in found.items() if targets}


def with_inner_targets(graph: Graph, whole: Graph, ends: Sequence[str]) -> Graph:
    """Returns a lift's graph with the values that are differentiated inside of its losses.

    The last ops of such a value are no part of a training step where the derivative does not need their results.

    Args:
      graph: of the lift.
      whole: the graph that it was cut from.
      ends: names of the losses' tensors.

    Returns:
      The graph; the same one if it has all.
    """
    members = graph.ancestors([parse_tensor_name(name).node for name in ends], controls=False)
    todo = [target for targets in gradient_starts(whole, members).values() for target in targets]
    missing: Dict[str, None] = {}
    while todo:
        name = todo.pop()
        if name not in graph.nodes and name not in missing:
            missing[name] = None
            todo += [tensor.node for tensor in whole.inputs(name)]
    if not missing:
        return graph
    result = GraphCopy(graph)
    for name in missing:
        node = result.add_copy(whole.nodes[name])
        node.input[:] = data_inputs(node)
    return result.graph()
