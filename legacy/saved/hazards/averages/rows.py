"""Rows of a variable that a scatter moves, such as the centers of classes."""

from __future__ import annotations

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.kept_shares import Kept
from legacy.saved.hazards.basics.linear_weights import constant_factor, linear_inputs, linear_weights
from legacy.saved.hazards.basics.variable_reads import variable_read


def kept_of_rows(whole: WholeGraph, name: str) -> Kept:
    """Returns the share of themselves that rows keep where a scatter moves them by a linear function of gathered rows.

    Positive factors of all of the change are left out: the share tells whether rows follow something, or move away.
    """
    graph, inputs = whole.graph, whole.graph.inputs(name)
    weights = linear_weights(whole, _without_counts(whole, inputs[2].node)) if len(inputs) > 2 else {}
    rows = [node for node in weights if graph.type(node) in op_types.LOOKUPS]
    own = sum(weights[row] for row in rows if variable_read(graph, graph.inputs(row)[0].node) == whole.writes[name])
    return Kept(1 + own if graph.type(name) == "ScatterAdd" else 1 - own, {**weights})


def follows_rows(whole: WholeGraph, name: str) -> bool:
    """Returns whether a scatter moves rows by a share of their difference from data, as the centers of classes."""
    kept = kept_of_rows(whole, name)
    ends = [node for node, weight in kept.weights.items() if weight and not list(linear_inputs(whole, node))]
    others = [node for node in ends if whole.graph.type(node) not in op_types.LOOKUPS]
    return kept.share < 1 and any(node in whole.data for node in others)


def _without_counts(whole: WholeGraph, name: str) -> str:
    """Returns the node that is multiplied by constants above 0, and divided by the classes' counts, to change rows."""
    graph = whole.graph
    while True:
        inputs = graph.inputs(name)
        scaled = constant_factor(whole, name) if graph.type(name) == "Mul" else None
        if scaled is not None and scaled[1] > 0:
            name = scaled[0]
        elif graph.type(name) in op_types.QUOTIENTS and _is_of_counts(whole, inputs[1].node):
            name = inputs[0].node
        else:
            return name


def _is_of_counts(whole: WholeGraph, name: str) -> bool:
    """Whether a node is made of the numbers of equal labels."""
    return any(whole.graph.type(node) == "UniqueWithCounts" for node in whole.graph.ancestors([name], controls=False))
