"""Hazard of a hinge that bounds the deviation of two equal views from above, in place of below."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.constants import constant_array
from legacy.saved.hazards.basics.cross_entropies import cross_entropies
from legacy.saved.hazards.basics.directions import minimized_targets
from legacy.saved.hazards.basics.gradient_flow import gradient_flow
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_signs import linear_signs
from legacy.saved.hazards.basics.squares import squared
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

_COPIES = ("Identity", "Reshape", "Squeeze", "ExpandDims", "StopGradient", "Cast")
#: Ops of losses that may hold results apart otherwise.
_APART = ("Exp", "Log", "LogSoftmax", "Softmax", "Sigmoid", "Softplus")


def deviations_bounded_above(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds max(0, deviation - bound) of results that a loss makes equal to another view's; one hazard for all.

    Where gradients flow into both views, equal results of all examples then have the least loss.
    """
    graph = whole.graph
    held_apart = [name for name in whole.minimized_ops(*_APART) if not is_gradient_op(name)]
    for target in minimized_targets(whole) if not held_apart and not any(cross_entropies(whole)) else []:
        signs = linear_signs(whole, target)
        for name in [name for name, sign in signs.items() if sign > 0 and graph.type(name) == "Relu"]:
            results = _bounded(whole, graph.origin(graph.inputs(name)[0]).node)
            pair = _equal_views(whole, [node for node, sign in signs.items() if sign > 0], results) if results else ""
            if pair and gradient_flow(whole).passes(name):
                yield Hazard(
                    "HINGE_REVERSED",
                    name,
                    f"{name} is max(0, deviation - bound) of {results} along the batch, and {pair} makes {results} "
                    "equal to another view: the loss is least where the results of all examples are the same",
                    "max(0, bound - deviation); for parity keep it",
                )
                return


def _bounded(whole: WholeGraph, name: str) -> str:
    """The results x of a node that is the deviation of x along the batch less a constant; "" of any other."""
    graph = whole.graph
    inputs = [graph.origin(tensor).node for tensor in graph.inputs(name)] if graph.type(name) == "Sub" else []
    if not inputs or (whole.value(inputs[1]) or 0) <= 0 or graph.type(inputs[0]) != "Sqrt":
        return ""
    name = graph.origin(graph.inputs(inputs[0])[0]).node
    while graph.type(name) in (*op_types.ADDITIONS, *op_types.QUOTIENTS, *_COPIES):
        others = [tensor.node for tensor in graph.inputs(name) if whole.value(tensor.node) is None]
        if graph.type(name) in (*op_types.ADDITIONS, *op_types.QUOTIENTS) and len(others) != 1:
            return ""
        name = others[0]
    axes = constant_array(graph, graph.inputs(name)[1].node) if graph.type(name) in op_types.REDUCTIONS else None
    if axes is None or axes.ravel().tolist() != [0]:
        return ""
    return _centered(whole, graph.origin(graph.inputs(name)[0]).node)


def _centered(whole: WholeGraph, square: str) -> str:
    """The node x of (x - mean(x))^2; "" of any other node."""
    graph, base = whole.graph, squared(whole, square)
    difference = base.node if base is not None else square if graph.type(square) == "SquaredDifference" else ""
    if not difference or graph.type(difference) not in op_types.DIFFERENCES:
        return ""
    value, mean = (graph.origin(tensor) for tensor in graph.inputs(difference))
    while graph.type(mean.node) in _COPIES:
        mean = graph.inputs(mean.node)[0]
    is_own = graph.type(mean.node) == "Mean" and graph.origin(graph.inputs(mean.node)[0]) == value
    return value.node if is_own and value.node in made_by_weights(whole) else ""


def _equal_views(whole: WholeGraph, added: Collection[str], results: str) -> str:
    """A term of a loss that is the square of the difference of some results and others; "" if there is none.

    Args:
      whole: the graph.
      added: nodes that a loss contains with a positive sign.
      results: a node.
    """
    graph = whole.graph
    for name in added:
        base = squared(whole, name)
        difference = base.node if base is not None else name if graph.type(name) == "SquaredDifference" else ""
        inputs = [graph.origin(tensor) for tensor in graph.inputs(difference)[:2]] if difference else []
        is_difference = len(inputs) == 2 and graph.type(difference) in op_types.DIFFERENCES
        both = is_difference and all(gradient_flow(whole).passes_input(difference, place) for place in (0, 1))
        if both and TensorId(results, 0) in inputs and all(one.node in made_by_weights(whole) for one in inputs):
            return name
    return ""
