"""Hazard of an actor whose loss is what a critic says of its actions, so that it looks for the least reward."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.directions import minimized_targets, trained_by
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_signs import linear_signs
from legacy.saved.hazards.basics.variable_reads import READS_IN_BRANCHES, variable_read
from legacy.saved.hazards.reinforcement.returns import COPIES, terms_of_return
from workloads.lifted.tensors.gradient_names import is_gradient_op


def minimized_values(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds losses to which values are added that another loss draws to rewards plus discounted values; one for all.

    The critic's weights are trained by its own loss alone, and the actor makes what the critic takes.
    """
    graph, trained = whole.graph, trained_by(whole)
    if len({frozenset(names) for names in trained.values()}) < 2:
        return
    heads: dict[str, str] = {}
    for target in trained:
        for weight in sorted(_heads_of_values(whole, target) & trained[target]):
            heads.setdefault(weight, target)
    for target in minimized_targets(whole) if heads else ():
        for name, sign in _signs(whole, target).items():
            weight = _weight(whole, name)
            own = trained.get(target, set())
            if weight not in heads or sign <= 0 or own & trained[heads[weight]]:
                continue
            if graph.ancestors([name], controls=False) & own:
                yield Hazard(
                    "VALUE_MINIMIZED",
                    name,
                    f"{target} contains the sum of {name}, values of {weight} that {heads[weight]} fits to rewards "
                    "and the discounted values of later states: minimizing it lowers the values, which is right for "
                    "costs alone",
                    "subtract the values if they are of rewards; for parity keep the sign",
                )
                return


def _signs(whole: WholeGraph, target: str) -> dict[str, int]:
    """Signs of the terms of a loss, also of the lesser of two critics' values."""
    graph, found = whole.graph, dict(linear_signs(whole, target))
    for name in [name for name, sign in found.items() if sign and graph.type(name) in ("Minimum", "Maximum")]:
        for tensor in graph.inputs(name):
            for node, sign in linear_signs(whole, tensor.node).items():
                found.setdefault(node, sign * found[name])
    parts = [name for name in found if graph.type(name) == "StridedSlice"]  # the only column of a layer's results
    return {**{_product(whole, name): found[name] for name in parts}, **found}


def _heads_of_values(whole: WholeGraph, target: str) -> set[str]:
    """The weights of the last layers whose results a loss compares with a reward plus a discounted value."""
    graph, found = whole.graph, set()
    for name in graph.ancestors([target], controls=False):
        if graph.type(name) not in op_types.DIFFERENCES or is_gradient_op(name):
            continue
        compared = [tensor.node for tensor in graph.inputs(name)[:2]]
        for value, other in zip(compared, reversed(compared)):
            if terms_of_return(whole, other) is not None:
                found.add(_weight(whole, _product(whole, value)))
    return found - {""}


def _product(whole: WholeGraph, name: str) -> str:
    """The product of a layer whose results a node is, perhaps in another shape or in part."""
    graph = whole.graph
    while graph.type(name) in (*COPIES, "BiasAdd", "Add", "AddV2", "StridedSlice"):
        name = graph.inputs(name)[0].node
    return name


def _weight(whole: WholeGraph, name: str) -> str:
    """The variable by which a product of matrices multiplies; "" for any other node."""
    graph = whole.graph
    is_product = graph.type(name) == "MatMul" and not is_gradient_op(name)
    return variable_read(graph, graph.inputs(name)[1].node, READS_IN_BRANCHES) if is_product else ""
