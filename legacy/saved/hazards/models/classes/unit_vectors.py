"""Vectors that are divided by their norms, as those of cosines are."""

from __future__ import annotations

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.constants import constant_array
from workloads.lifted.graph import TensorId


def normalized_along(whole: WholeGraph, tensor: TensorId) -> tuple[TensorId, int] | None:
    """Returns (x, the axis) of a tensor that is x / |x| along one axis; None of any other.

    So `tf.nn.l2_normalize` writes it, and a quotient of x and `tf.norm(x)`.
    """
    graph = whole.graph
    tensor = graph.origin(tensor)
    if graph.type(tensor.node) in op_types.DIVISIONS:
        return _divided_by_norm(whole, *map(graph.origin, graph.inputs(tensor.node)))
    if graph.type(tensor.node) != "Mul":
        return None
    inputs = [graph.origin(before) for before in graph.inputs(tensor.node)]
    for one, other in zip(inputs, reversed(inputs)):
        bounded = graph.origin(graph.inputs(other.node)[0]).node if graph.type(other.node) == "Rsqrt" else ""
        total = graph.origin(graph.inputs(bounded)[0]).node if bounded and graph.type(bounded) == "Maximum" else bounded
        squares = graph.origin(graph.inputs(total)[0]).node if total and graph.type(total) == "Sum" else ""
        if squares and graph.type(squares) == "Square" and graph.origin(graph.inputs(squares)[0]) == one:
            axes = constant_array(graph, graph.inputs(total)[1].node)
            return (one, int(axes.ravel()[0])) if axes is not None and axes.size == 1 else None
    return None


def _divided_by_norm(whole: WholeGraph, value: TensorId, norm: TensorId) -> tuple[TensorId, int] | None:
    """(x, the axis) of a quotient x / sqrt(sum(x * x)); None of any other."""
    graph = whole.graph
    total = graph.origin(graph.inputs(norm.node)[0]).node if graph.type(norm.node) == "Sqrt" else ""
    squares = graph.origin(graph.inputs(total)[0]).node if total and graph.type(total) == "Sum" else ""
    factors = {graph.origin(factor) for factor in graph.inputs(squares)} if squares else set()
    if graph.type(squares or value.node) not in ("Square", "Mul") or factors != {value}:
        return None
    axes = constant_array(graph, graph.inputs(total)[1].node)
    return (value, int(axes.ravel()[0])) if axes is not None and axes.size == 1 else None
