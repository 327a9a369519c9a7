"""Ops that the old gradients differentiate by another formula than today's, of which the results have other bits."""

from __future__ import annotations

from legacy.saved.derivatives.wrong_derivatives import exchanges_peepholes
from workloads.lifted.graph import Graph
from workloads.lifted.graph.edits import GraphCopy
from workloads.lifted.tensors.gradient_names import forward_name, in_gradient_graphs

#: Attribute of an op whose derivative is the old one.
OLD_DERIVATIVE = "_old_derivative"
#: {op type: type of the op of its old derivative, which today's derivative has none of}.
_OF_DERIVATIVES = {
    "Div": "Square",  # today -x / y / y for the divisor's; -x / y^2 in TensorFlow 0.12
    "Softplus": "SoftplusGrad",  # today gradient * sigmoid(x); the other way until TensorFlow 1.4
}


def with_old_derivatives(graph: Graph) -> Graph:
    """Returns a lift's graph whose ops with an old derivative have the attribute `OLD_DERIVATIVE`.

    What is written is differentiated again, and such an op is written as a function with a derivative of its own.

    Args:
      graph: of the lift.

    Returns:
      The graph; the same one if there are no such ops.
    """
    marked = sorted(_with_old_derivative(graph))
    if not marked:
        return graph
    result = GraphCopy(graph)
    for name in marked:
        result.nodes[name].attr[OLD_DERIVATIVE].b = True
    return result.graph()


def _with_old_derivative(graph: Graph) -> set[str]:
    """Returns the names of the ops whose derivative is the op of `_OF_DERIVATIVES`, or has exchanged peepholes.

    Gradients also compute the derivative by a divisor that depends on no weight, which no other op takes.
    """
    forward = {name: forward_name(name, graph.nodes) for name in in_gradient_graphs(graph.nodes)}
    found = set()
    for name, op in forward.items():
        if op is not None and op in graph.nodes:
            of_type = _OF_DERIVATIVES.get(graph.type(op)) == graph.type(name)
            behind = graph.descendants([name], controls=False) if of_type else set()
            if any(forward.get(node) != op for node in behind) or exchanges_peepholes(graph, op, name):
                found.add(op)
    return found
