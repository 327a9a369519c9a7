"""Hazard of a triplet loss whose positive and negative examples go through networks of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.asymmetries.networks.lockstep import lockstep
from legacy.saved.hazards.basics.directions import minimized_targets
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_signs import linear_signs
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Numbers that make the names of a second copy's scopes and variables differ from those of the first.
_NUMBERS = re.compile(r"_\d+(?=/|$)")
_HINGES = ("Relu", "Maximum", "Softplus")
_ON_THE_WAY = ("Identity", "Neg", *op_types.SUMS_AND_DIFFERENCES, *op_types.SCALINGS)


def networks_that_are_compared(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds max(0, d(a, p) - d(a, n) + margin) of results p and n whose networks differ in their weights; one for all.

    The result a is common to both. Two inputs that are compared with each other may have networks of their own, as of
    two kinds of images; these two are compared with one third result, and so are of one kind. Names that differ in
    more than numbers tell of a purpose.
    """
    graph = whole.graph
    added = {name for target in minimized_targets(whole) for name, sign in linear_signs(whole, target).items() if sign}
    for name in [name for name in whole.minimized_ops("Sub") if not is_gradient_op(name)]:
        if not _is_ranked(whole, name, added):
            continue
        found = lockstep(whole, *graph.inputs(name)[:2])
        if found is None or not found.shared or not found.data or not found.variables:
            continue
        trained = all(variable in whole.trainable for pair in found.variables for variable in pair)
        if trained and all(_NUMBERS.sub("", one) == _NUMBERS.sub("", other) for one, other in found.variables):
            one, other = min(found.variables)
            yield Hazard(
                "COMPARED_BY_OTHER_NETWORKS",
                name,
                f"{name} compares {graph.inputs(name)[0].node} with {graph.inputs(name)[1].node}, which the same ops "
                f"compute of other examples by other weights, such as {one} and {other}: the loss can fall by what "
                "the networks differ in, whatever the examples are",
                "build the network once, with reuse=True for the other examples; for parity keep both",
            )
            return


def _is_ranked(whole: WholeGraph, difference: str, added: set[str]) -> bool:
    """Whether a hinge or the logarithm of a sigmoid takes a difference, and a loss adds it up."""
    graph, todo, seen = whole.graph, [difference], {difference}
    while todo:
        for user in {use.node for use in graph.users(todo.pop())} & whole.minimized - seen:
            kind = graph.type(user)
            logarithms = [use.node for use in graph.users(user) if graph.type(use.node) == "Log"]
            if (kind in _HINGES and user in added) or (kind == "Sigmoid" and added.intersection(logarithms)):
                return True
            others = [tensor.node for tensor in graph.inputs(user) if whole.value(tensor.node) is None]
            if kind in _ON_THE_WAY and len(others) == 1 and not is_gradient_op(user):
                seen.add(user)
                todo.append(user)
    return False
