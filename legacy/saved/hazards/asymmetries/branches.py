"""Hazard of smooth L1 whose condition compares the difference, and not its magnitude."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import constant_factor
from legacy.saved.hazards.basics.squares import squared
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from workloads.lifted.tensors.gradient_names import is_gradient_op


def conditions_without_magnitude(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds d < 1 beside |d| and d^2 of one loss, of a difference d; one hazard for all."""
    graph = whole.graph
    for name in [name for name in whole.minimized_ops("Less", "LessEqual") if not is_gradient_op(name)]:
        difference, bound = (graph.origin(tensor).node for tensor in graph.inputs(name)[:2])
        if graph.type(difference) != "Sub" or not (whole.value(bound) or 0) > 0:
            continue
        users = {use.node for use in graph.users(difference)} & whole.minimized
        sizes = {user for user in users if graph.type(user) == "Abs" and not is_gradient_op(user)}
        users |= {use.node for size in sizes for use in graph.users(size)} & whole.minimized
        users |= {use.node for user in users if _is_scaled(whole, user) for use in graph.users(user)} & whole.minimized
        squares = [user for user in users if not is_gradient_op(user) and _squares(whole, user)]
        if sizes and squares and difference in made_by_weights(whole):
            yield Hazard(
                "CONDITION_WITHOUT_MAGNITUDE",
                name,
                f"{name} tests whether {difference} is small, and not whether its absolute value is: every large "
                "negative difference counts as small, and is squared",
                "compare tf.abs of it, as smooth L1 does; for parity keep it",
            )
            return


def _is_scaled(whole: WholeGraph, name: str) -> bool:
    return whole.graph.type(name) == "Mul" and constant_factor(whole, name) is not None and not is_gradient_op(name)


def _squares(whole: WholeGraph, name: str) -> bool:
    """Whether a node is a square, or a product c * x * x with a constant."""
    if squared(whole, name) is not None:
        return True
    factors = [whole.graph.origin(tensor).node for tensor in whole.graph.inputs(name)]
    scaled = [constant_factor(whole, one) for one in factors] if whole.graph.type(name) == "Mul" else []
    return any(one is not None and one[0] == other for one, other in zip(scaled, reversed(factors)))
