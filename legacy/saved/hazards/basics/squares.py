"""Squares of tensors, in each of the forms in which programs write them."""

from __future__ import annotations

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Ops behind which a difference is still one, of some elements or times weights.
_HANDS_ON = ("Cast", "Identity", "Mul", "Neg", "Reshape", "Squeeze", "Transpose", *op_types.QUOTIENTS)
_SIZES = ("Abs", "L2Loss", "Square", "Pow")


def squared(whole: WholeGraph, name: str) -> TensorId | None:
    """Returns the tensor that a node squares, by `tf.square(x)`, `x ** 2` or `x * x`; None for any other node."""
    graph, kind = whole.graph, whole.graph.type(name)
    inputs = [graph.origin(tensor) for tensor in graph.inputs(name)]
    if kind == "Square" or (kind == "Pow" and whole.value(inputs[1].node) == 2):
        return inputs[0]
    return inputs[0] if kind == "Mul" and inputs[0] == inputs[1] else None


def is_error(whole: WholeGraph, difference: str) -> bool:
    """Returns whether a loss has the size of a difference: others, as of a residual connection, compare nothing."""
    graph, todo, seen = whole.graph, [difference], {difference}
    while todo:
        name = todo.pop()
        if graph.type(name) == "SquaredDifference":
            return True
        for user in [use.node for use in graph.users(name) if use.node in whole.minimized]:
            if graph.type(user) in _SIZES or squared(whole, user) is not None:
                return True
            if graph.type(user) in _HANDS_ON and user not in seen and not is_gradient_op(user):
                seen.add(user)
                todo.append(user)
    return False


def adds_deviations(whole: WholeGraph, total: str) -> bool:
    """Returns whether a node is a sum of the squares of differences from a mean, as a variance without bias has it."""
    graph = whole.graph
    square = graph.origin(graph.inputs(total)[0]).node if graph.type(total) == "Sum" else ""
    base = squared(whole, square) if square else None
    difference = square if base is None else graph.origin(base).node
    inputs = graph.inputs(difference)[:2] if difference and graph.type(difference) in op_types.DIFFERENCES else []
    return any(graph.type(graph.origin(tensor).node) == "Mean" for tensor in inputs)
