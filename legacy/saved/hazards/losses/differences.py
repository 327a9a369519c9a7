"""Hazard of a loss in which a tensor is subtracted from itself, as after a name was copied."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard

#: Ops that subtract their second input from their first.
_DIFFERENCES = ("Sub", "SquaredDifference")


def differences_of_one(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds losses with the difference of a tensor that a model computes and itself; one hazard for all.

    A straight-through estimate subtracts a tensor from itself, too, but lets no gradient pass one of both.
    """
    graph = whole.graph
    for name in whole.minimized_ops(*_DIFFERENCES):
        first, second = graph.inputs(name)[:2]
        if graph.origin(first) == graph.origin(second) and graph.ancestors([first.node]) & whole.trainable:
            yield Hazard(
                "DIFFERENCE_OF_ONE",
                name,
                f"{name} ({graph.type(name)}) takes {source_of_elements(graph, first).node} twice: it is always 0, and "
                "no gradient passes it",
                "check which two results were meant; for parity keep it",
            )
            return
