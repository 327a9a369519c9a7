"""Squares of tensors, in each of the forms in which programs write them."""

from __future__ import annotations

from legacy.saved.facts.basics.whole_graph import WholeGraph
from workloads.lifted.graph import TensorId

_DIFFERENCES = ("Sub", "SquaredDifference")


def squared(whole: WholeGraph, name: str) -> TensorId | None:
    """Returns the tensor that a node squares, by `tf.square(x)`, `x ** 2` or `x * x`; None for any other node."""
    graph, kind = whole.graph, whole.graph.type(name)
    inputs = [graph.origin(tensor) for tensor in graph.inputs(name)]
    if kind == "Square" or (kind == "Pow" and whole.value(inputs[1].node) == 2):
        return inputs[0]
    return inputs[0] if kind == "Mul" and inputs[0] == inputs[1] else None


def adds_deviations(whole: WholeGraph, total: str) -> bool:
    """Returns whether a node is a sum of the squares of differences from a mean, as a variance without bias has it."""
    graph = whole.graph
    square = graph.origin(graph.inputs(total)[0]).node if graph.type(total) == "Sum" else ""
    base = squared(whole, square) if square else None
    difference = square if base is None else graph.origin(base).node
    inputs = graph.inputs(difference)[:2] if difference and graph.type(difference) in _DIFFERENCES else []
    return any(graph.type(graph.origin(tensor).node) == "Mean" for tensor in inputs)
