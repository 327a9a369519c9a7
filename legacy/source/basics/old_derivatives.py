"""Ops that the old gradients differentiate by another formula than today's, or later, with results of other bits."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from legacy.saved.derivatives.wrong_derivatives import exchanges_peepholes
from legacy.saved.graph import op_types
from workloads.lifted.graph import Graph
from workloads.lifted.graph.edits import GraphCopy
from workloads.lifted.tensors.gradient_names import forward_name, gradient_nodes

if TYPE_CHECKING:
    from workloads.lifted.plan import Plan

#: Attribute of an op whose derivative is the old one.
OLD_DERIVATIVE = "_old_derivative"
#: Attribute of a reshape to sizes that are computed of what it takes, for which the old gradients waited.
WAITED_FOR = "_waited_for"
#: The last release that is known to wait for gradients of whole numbers, which there are none of.
_LAST_TO_WAIT = (1, 4)
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


def with_waits(plan: Plan, graph: Graph) -> Graph:
    """Returns a lift's graph whose reshapes for which the old gradients waited have the attribute `WAITED_FOR`.

    `tf.gradients` of today takes an op as soon as those have come that hand it a gradient. Up to TensorFlow 1.4 it also
    waited for the op's sizes, through all ops that these are made into, so that parts of a gradient had another order.

    Args:
      plan: of the lift; says which release wrote the graph.
      graph: of the lift.

    Returns:
      The graph; the same one if there are no such ops.
    """
    release = re.match(r"(\d+)\.(\d+)", str(plan.about.get("written by TensorFlow", "")))
    if release is None or (int(release[1]), int(release[2])) > _LAST_TO_WAIT:
        return graph
    marked = [name for name in graph.of_types("Reshape") if _takes_own_sizes(graph, name)]
    if not marked:
        return graph
    result = GraphCopy(graph)
    for name in marked:
        result.nodes[name].attr[WAITED_FOR].b = True
    return result.graph()


def _takes_own_sizes(graph: Graph, name: str) -> bool:
    """Returns whether the sizes of a reshape are joined of parts of the shape of what it takes."""
    taken, sizes = graph.inputs(name)
    if graph.type(sizes.node) not in op_types.JOINS:
        return False
    parts = [part.node for part in graph.inputs(sizes.node) if graph.type(part.node) == "Slice"]
    shapes = [graph.inputs(part)[0].node for part in parts]
    return any(graph.type(shape) == "Shape" and graph.inputs(shape)[0] == taken for shape in shapes)


def _with_old_derivative(graph: Graph) -> set[str]:
    """Returns the names of the ops whose derivative is the op of `_OF_DERIVATIVES`, or has exchanged peepholes.

    Gradients also compute the derivative by a divisor that depends on no weight, which no other op takes.
    """
    forward = {name: forward_name(name, graph.nodes) for name in gradient_nodes(graph)}
    found = set()
    for name, op in forward.items():
        if op is not None and op in graph.nodes:
            of_type = _OF_DERIVATIVES.get(graph.type(op)) == graph.type(name)
            behind = graph.descendants([name], controls=False) if of_type else set()
            if any(forward.get(node) != op for node in behind) or exchanges_peepholes(graph, op, name):
                found.add(op)
    return found
