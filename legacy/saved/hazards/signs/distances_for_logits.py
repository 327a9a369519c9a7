"""Hazard of a softmax loss whose logits are distances, so that the farthest class is the most likely."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.cross_entropies import cross_entropies
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import linear_weights
from legacy.saved.hazards.basics.squares import squared
from legacy.saved.hazards.basics.weighed_values import made_by_weights

_JOINS = ("Pack", "Concat", "ConcatV2")


def distances_for_logits(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds softmax losses whose logits are squared distances with a positive weight, and nothing else; one for all."""
    for entropy in [one for one in cross_entropies(whole) if not one.is_sigmoid]:
        weights = linear_weights(whole, entropy.logits.node)
        if any(whole.graph.type(name) in _JOINS for name in weights):
            continue  # a distance may be the logit of "another class", beside that of "the same"
        ends = {name: weight for name, weight in weights.items() if _is_squared_distance(whole, name)}
        if len(ends) == 1 and min(ends.values()) > 0 and entropy.labels.node not in made_by_weights(whole):
            name = next(iter(ends))
            yield Hazard(
                "DISTANCES_FOR_LOGITS",
                entropy.op,
                f"the logits of {entropy.op} are the squared distances {name}, without a minus sign: the most distant "
                "class has the largest probability",
                "take the negative distances; for parity keep them",
            )
            return


def _is_squared_distance(whole: WholeGraph, name: str) -> bool:
    """Whether a node adds up or averages squared differences of two results of weights, or is its root."""
    graph = whole.graph
    if graph.type(name) == "Sqrt":
        name = graph.origin(graph.inputs(name)[0]).node
    inner = graph.origin(graph.inputs(name)[0]).node if graph.type(name) in op_types.REDUCTIONS else ""
    square = squared(whole, inner) if inner else None
    difference = inner if square is None else graph.origin(square).node
    if not inner or graph.type(difference) not in op_types.DIFFERENCES:
        return False
    sides = [tensor.node for tensor in graph.inputs(difference)]
    return all(side in made_by_weights(whole) for side in sides) and name in whole.data
