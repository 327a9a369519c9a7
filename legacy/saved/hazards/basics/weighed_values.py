"""Values that depend on trained weights; and counts of data, which depend on none."""

from __future__ import annotations

import functools

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.elements import source_of_elements


@functools.lru_cache(maxsize=2)
def made_by_weights(whole: WholeGraph) -> frozenset[str]:
    """Returns the nodes that are computed from trained variables, these included."""
    trained = whole.trainable & set(whole.graph.nodes)
    return frozenset(whole.graph.descendants(trained, controls=False) | trained)


def sum_below(whole: WholeGraph, name: str) -> str:
    """Returns the Sum of data to which a divisor adds a number, or that it bounds by one; "" of any other divisor."""
    graph = whole.graph
    while graph.type(name) in ("Maximum", "Identity", "Add", "AddV2", "Cast"):
        others = [tensor.node for tensor in graph.inputs(name) if whole.value(tensor.node) is None]
        if len(others) != 1:
            return ""
        name = others[0]
    return name if graph.type(name) == "Sum" and name not in made_by_weights(whole) else ""


def counted_elements(whole: WholeGraph, name: str) -> str:
    """Returns the node whose elements a divisor adds up, perhaps at least 1; "" if it adds up none."""
    total = sum_below(whole, name)
    return source_of_elements(whole.graph, whole.graph.inputs(total)[0]).node if total else ""
