"""Hazard of a likelihood h - log(sum(exp(h))) that is minimized, as of a Cox model or of a ranking."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.directions import minimized_targets, trained_by
from legacy.saved.hazards.basics.gradient_flow import gradient_flow
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_signs import linear_signs
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from workloads.lifted.tensors.gradient_names import is_gradient_op

_COPIES = ("Identity", "Reshape", "Squeeze", "ExpandDims")
_BOUNDS = ("Add", "AddV2", "Maximum")


def minimized_log_sums(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds losses with h - log(sum(exp(h))) of a layer's results h, which is never above 0; one hazard for all.

    The loss trains all weights of h: an adversary may lower the likelihood by a classifier that it does not train.
    """
    graph = whole.graph
    for target in minimized_targets(whole):
        signs = _signs(whole, target)
        for name in [name for name, sign in signs.items() if sign < 0 and graph.type(name) == "Log"]:
            inner = exponent(whole, name)
            weights = graph.ancestors([inner], controls=False) & whole.trainable if inner else set()
            is_trained = bool(weights) and weights <= trained_by(whole).get(target, set())
            if is_trained and signs.get(inner, 0) > 0 and gradient_flow(whole).passes(name):
                yield Hazard(
                    "LIKELIHOOD_MINIMIZED",
                    name,
                    f"{target} contains {inner} less {name}, the logarithm of a sum of its exponentials: a "
                    "log-likelihood without its minus sign, which is unbounded below",
                    "multiply the term by -1; for parity keep the sign",
                )
                return


def _signs(whole: WholeGraph, target: str) -> dict[str, int]:
    """{node that a loss is a linear function of: the sign}, also where data weigh the terms, and their sum divides."""
    graph, found = whole.graph, dict(linear_signs(whole, target))
    todo = list(found)
    weights: set[str] = set()
    while todo:
        name = todo.pop(0)
        inputs = [graph.origin(tensor).node for tensor in graph.inputs(name)]
        inner = ""
        if graph.type(name) in op_types.QUOTIENTS and not is_gradient_op(name):
            weights |= _added(whole, inputs[1])
            inner = inputs[0] if _added(whole, inputs[1]) else ""
        elif graph.type(name) == "Mul" and not is_gradient_op(name):
            inner = next((one for one, other in zip(inputs, reversed(inputs)) if other in weights), "")
        for node, sign in linear_signs(whole, inner).items() if inner else ():
            if node not in found:
                found[node] = sign * found[name]
                todo.append(node)
    return found


def _added(whole: WholeGraph, name: str) -> set[str]:
    """The node of data whose elements a divisor adds up, so that they are weights; none of any other divisor."""
    graph = whole.graph
    while graph.type(name) in (*_BOUNDS, *_COPIES):
        others = [tensor.node for tensor in graph.inputs(name)[:2] if whole.value(tensor.node) is None]
        if not others:
            return set()
        name = others[0]
    source = graph.origin(graph.inputs(name)[0]).node if graph.type(name) == "Sum" else ""
    return {source} if source in whole.data and source not in made_by_weights(whole) else set()


def exponent(whole: WholeGraph, logarithm: str) -> str:
    """Returns the node h of log(sum(exp(h))), to which sum a small number may be added; "" of any other logarithm."""
    graph, name, is_sum = whole.graph, whole.graph.inputs(logarithm)[0].node, False
    while graph.type(name) in (*_COPIES, *_BOUNDS, "Sum", "Cumsum"):
        is_sum |= graph.type(name) in ("Sum", "Cumsum")
        others = [tensor.node for tensor in graph.inputs(name)[:2] if whole.value(tensor.node) is None]
        others = others[:1] if graph.type(name) not in _BOUNDS or len(others) == 1 else []
        if not others:
            return ""
        name = others[0]
    return graph.origin(graph.inputs(name)[0]).node if is_sum and graph.type(name) == "Exp" else ""
