"""Hazard of the entropy of a normal policy that is minimized beside clipped ratios of its probabilities."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.directions import minimized_targets
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_signs import linear_signs
from legacy.saved.hazards.reinforcement.policies import clipped_ratios


def minimized_normal_entropies(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds losses to which the logarithm of a policy's deviation is added, which is its entropy; one hazard for all.

    The deviation divides a distance behind clipped ratios of probabilities. Other terms with it, such as a divergence
    from the old policy, or the likelihood of what is imitated, contain its logarithm with this sign rightly.
    """
    graph, ratios = whole.graph, clipped_ratios(whole)
    of_ratios = graph.ancestors(ratios, controls=False)
    for target in minimized_targets(whole) if ratios else []:
        signs = linear_signs(whole, target)
        for name, sign in signs.items():
            deviations = _deviations(whole, name) if sign > 0 else []
            divides = any(_divides(whole, deviation, of_ratios) for deviation in deviations)
            if divides and not _has_other_terms(whole, signs, name, ratios):
                yield Hazard(
                    "ENTROPY_MINIMIZED",
                    name,
                    f"{target} contains {name}, the logarithm of the standard deviation of the policy, with a positive "
                    "weight: it falls where the policy explores less",
                    "subtract the entropy; for parity keep the sign",
                )
                return


def _deviations(whole: WholeGraph, name: str) -> list[str]:
    """The nodes of which a node is the logarithm: what it is taken of, or exponentials of it."""
    graph = whole.graph
    if graph.type(name) == "Log":
        inner = graph.origin(graph.inputs(name)[0]).node
        return [graph.origin(graph.inputs(inner)[0]).node if graph.type(inner) == "Abs" else inner]
    found, todo = [], [name]
    while todo:
        users = [use.node for use in graph.users(todo.pop()) if use.node in whole.minimized]
        todo += [user for user in users if graph.type(user) == "Identity"]
        found += [user for user in users if graph.type(user) == "Exp"]
    return found


def _divides(whole: WholeGraph, deviation: str, nodes: Collection[str]) -> bool:
    """Whether a node, perhaps with a small number added, is the divisor of a quotient among some nodes."""
    graph, todo = whole.graph, [deviation]
    while todo:
        for user, position, _ in graph.users(todo.pop()):
            if user in nodes and position == 1 and graph.type(user) in op_types.QUOTIENTS:
                return True
            todo += [user] if user in nodes and graph.type(user) in ("Identity", *op_types.ADDITIONS) else []
    return False


def _has_other_terms(whole: WholeGraph, signs: Collection[str], name: str, ratios: Collection[str]) -> bool:
    """Whether terms of a loss without the ratios depend on a node, or on the one that it is the logarithm of."""
    graph = whole.graph
    own = graph.ancestors([name], controls=False)
    source = graph.origin(graph.inputs(name)[0]).node if graph.type(name) == "Log" else name
    ends = [n for n in signs if n not in own and not any(tensor.node in signs for tensor in graph.inputs(n))]
    before = [graph.ancestors([end], controls=False) for end in ends]
    return any(source in nodes and nodes.isdisjoint(ratios) for nodes in before)
