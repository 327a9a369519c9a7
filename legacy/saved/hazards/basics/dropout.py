"""Dropout by its ops: the node by which it decides, and the share that it keeps."""

from __future__ import annotations

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from workloads.lifted.graph import TensorId


def kept_share(whole: WholeGraph, name: str) -> tuple[TensorId, bool] | None:
    """Returns the share of the node by which dropout decides: a Floor until 1.12, then a GreaterEqual.

    Args:
      whole: the graph.
      name: the node.

    Returns:
      (its tensor, whether it is the rate, and not the share that is kept); None for another node.
    """
    graph, inputs = whole.graph, whole.graph.inputs(name)
    if graph.type(name) == "GreaterEqual" and len(inputs) == 2 and _draws(whole, inputs[0].node):
        return _without_complement(whole, inputs[1], True)
    if graph.type(name) == "Floor" and inputs and graph.type(inputs[0].node) in op_types.SUMS_OF_TWO:
        others = [tensor for tensor in graph.inputs(inputs[0].node) if not _draws(whole, tensor.node)]
        return _without_complement(whole, others[0], False) if len(others) == 1 else None
    return None


def dropped_from(whole: WholeGraph, name: str) -> list[str]:
    """Returns the nodes from a value to what dropout leaves of it: [the value, its scaling if it has one, the result].

    Args:
      whole: the graph.
      name: of the result.

    Returns:
      The nodes; none for a node that is no result of dropout.
    """
    graph = whole.graph
    inputs = [tensor.node for tensor in graph.inputs(name)] if graph.type(name) == "Mul" else []
    for decision, value in zip(inputs, reversed(inputs)):
        while graph.type(decision) == "Cast":
            decision = graph.inputs(decision)[0].node
        if kept_share(whole, decision) is not None:
            scaled = graph.inputs(value) if graph.type(value) in ("RealDiv", "Div", "Mul") else []
            return [scaled[0].node, value, name] if scaled else [value, name]
    return []


def _without_complement(whole: WholeGraph, share: TensorId, is_rate: bool) -> tuple[TensorId, bool]:
    """A share and whether it is a rate; of 1 - x, this of x."""
    inputs = whole.graph.inputs(share.node)
    if whole.graph.type(share.node) == "Sub" and whole.value(inputs[0].node) == 1:
        return inputs[1], not is_rate
    return share, is_rate


def _draws(whole: WholeGraph, name: str) -> bool:
    return any(op_types.is_random(whole.graph.type(node)) for node in whole.graph.ancestors([name], controls=False))
