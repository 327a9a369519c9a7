"""Hazard of a focal loss by hand whose factor is largest for what is right already, in one of its two terms."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.squares import squared
from workloads.lifted.tensors.gradient_names import is_gradient_op

_BOUNDS = ("Identity", "Maximum", "Minimum", "ClipByValue", *op_types.ADDITIONS)


def factors_of_one_term(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds p^g log(p), or (1 - p)^g log(1 - p), of a sigmoid p, in place of exchanged bases; one hazard for all."""
    graph = whole.graph
    for name in [name for name in whole.minimized_ops("Log") if not is_gradient_op(name)]:
        probability, sign = _side(whole, graph.inputs(name)[0].node)
        if not sign or name not in whole.data:
            continue
        for factor in _factors(whole, name):
            power = _base(whole, factor)
            if power and _side(whole, power) == (probability, sign):
                yield Hazard(
                    "FOCUS_ON_EASY_EXAMPLES",
                    factor,
                    f"{name} is multiplied by {factor}, a power of the same probability: wrong predictions, whose "
                    "probability is near 0, add almost nothing to the loss",
                    "log(p) has the factor (1 - p)^gamma, and log(1 - p) has p^gamma; for parity keep it",
                )
                return


def _side(whole: WholeGraph, name: str) -> tuple[str, int]:
    """(p, 1) of a sigmoid p, perhaps bounded, (p, -1) of 1 - p; ("", 0) of anything else."""
    graph, sign = whole.graph, 1
    while True:
        inputs = [tensor.node for tensor in graph.inputs(name)]
        if graph.type(name) == "Sigmoid":
            return name, sign
        others = [before for before in inputs if whole.value(before) is None]
        if graph.type(name) == "Sub" and others == inputs[1:] and whole.value(inputs[0]) == 1:
            name, sign = inputs[1], -sign
        elif graph.type(name) in _BOUNDS and len(others) == 1:
            name = others[0]
        else:
            return "", 0


def _factors(whole: WholeGraph, name: str) -> list[str]:
    """The other factors of the products that a node is a factor of."""
    graph, found, todo = whole.graph, [], [name]
    while todo:
        name = todo.pop()
        for user in {use.node for use in graph.users(name)} & whole.minimized:
            if graph.type(user) == "Mul" and not is_gradient_op(user):
                others = [graph.origin(tensor).node for tensor in graph.inputs(user) if tensor.node != name]
                todo.append(user)
                while others:
                    other = others.pop()
                    found.append(other)
                    if graph.type(other) == "Mul" and not squared(whole, other):
                        others += [graph.origin(tensor).node for tensor in graph.inputs(other)]
            elif graph.type(user) in ("Neg", "Identity"):
                todo.append(user)
    return found


def _base(whole: WholeGraph, name: str) -> str:
    """The base of a power with a constant exponent above 0; "" of anything else."""
    square = squared(whole, name)
    if square is not None:
        return square.node
    inputs = [tensor.node for tensor in whole.graph.inputs(name)] if whole.graph.type(name) == "Pow" else []
    return inputs[0] if inputs and (whole.value(inputs[1]) or 0) > 0 else ""
