"""Squares of tensors, in each of the forms in which programs write them."""

from __future__ import annotations

from legacy.saved.facts.basics.whole_graph import WholeGraph
from workloads.lifted.graph import TensorId


def squared(whole: WholeGraph, name: str) -> TensorId | None:
    """Returns the tensor that a node squares, by `tf.square(x)`, `x ** 2` or `x * x`; None for any other node."""
    graph, kind = whole.graph, whole.graph.type(name)
    inputs = [graph.origin(tensor) for tensor in graph.inputs(name)]
    if kind == "Square" or (kind == "Pow" and whole.value(inputs[1].node) == 2):
        return inputs[0]
    return inputs[0] if kind == "Mul" and inputs[0] == inputs[1] else None
