"""Hazard of a target of Q-learning that takes the larger value of two critics."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import constant_factor
from legacy.saved.hazards.basics.structures import structures
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from legacy.saved.hazards.reinforcement.targets import LEAST_DISCOUNT

_SUMS = ("Add", "AddV2", "Sub", "Mul", "Identity")


def larger_of_two_critics(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds r + c max(Q1, Q2) behind stop_gradient, of networks that differ in their weights; one hazard for all."""
    graph = whole.graph
    for name in whole.minimized_ops("Maximum"):
        inputs = [graph.origin(tensor).node for tensor in graph.inputs(name)]
        numbers = structures(whole, of_twins=True)
        own = structures(whole)
        are_twins = numbers.get(inputs[0]) == numbers.get(inputs[1]) and own.get(inputs[0]) != own.get(inputs[1])
        if are_twins and _is_discounted_target(whole, name):
            yield Hazard(
                "LARGER_OF_TWO_CRITICS",
                name,
                f"{name} takes the larger of {inputs[0]} and {inputs[1]}, the values of two critics, as the target: "
                "it keeps the overestimated value",
                "use tf.minimum of the two critics; for parity keep it",
            )
            return


def _is_discounted_target(whole: WholeGraph, name: str) -> bool:
    """Whether a node, times a discount, is added to what data bring, and all that is behind stop_gradient."""
    graph, todo, seen = whole.graph, [(name, False, False)], {name}
    while todo:
        node, discounted, rewarded = todo.pop()
        for user in [use.node for use in graph.users(node) if use.node in whole.minimized]:
            if graph.type(user) == "StopGradient" and discounted and rewarded:
                return True
            if graph.type(user) not in _SUMS or user in seen:
                continue
            seen.add(user)
            others = [tensor.node for tensor in graph.inputs(user) if tensor.node != node]
            factors = [constant_factor(whole, factor) for factor in [user, *others] if graph.type(factor) == "Mul"]
            is_discount = any(factor is not None and LEAST_DISCOUNT <= factor[1] < 1 for factor in factors)
            is_reward = graph.type(user) in op_types.SUMS_OF_TWO and any(
                other in whole.data and other not in made_by_weights(whole) for other in others
            )
            todo.append((user, discounted or is_discount, rewarded or is_reward))
    return False
