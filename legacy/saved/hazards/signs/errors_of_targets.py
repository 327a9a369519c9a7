"""Sums of squared differences of results from given data, beside other sums of squares, as of a signal."""

from __future__ import annotations

from collections.abc import Sequence

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.squares import squared
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from workloads.lifted.graph import TensorId


def errors_of_targets(whole: WholeGraph, names: Sequence[str]) -> list[bool]:
    """Returns whether each node is a sum of squared errors: of results less given data, or less multiples of data."""
    graph, answers = whole.graph, []
    for name in names:
        while graph.type(name) in op_types.SUMS_OF_TWO:
            others = [tensor.node for tensor in graph.inputs(name) if whole.value(tensor.node) is None]
            if len(others) != 1:
                break
            name = graph.origin(TensorId(others[0], 0)).node
        square = graph.origin(graph.inputs(name)[0]).node if graph.type(name) in op_types.REDUCTIONS else name
        base = square if graph.type(square) == "SquaredDifference" else (squared(whole, square) or TensorId("", 0)).node
        is_difference = bool(base) and graph.type(base) in op_types.DIFFERENCES
        answers.append(is_difference and any(_is_multiple_of_data(whole, side.node) for side in graph.inputs(base)))
    return answers


def _is_multiple_of_data(whole: WholeGraph, name: str) -> bool:
    """Whether a node holds data, or their product or quotient with a result of weights."""
    name = source_of_elements(whole.graph, TensorId(name, 0)).node
    if name in whole.data and name not in made_by_weights(whole):
        return True
    factors = whole.graph.inputs(name) if whole.graph.type(name) == "Mul" else whole.graph.inputs(name)[:1]
    is_multiple = whole.graph.type(name) in op_types.SCALINGS
    return is_multiple and any(_is_multiple_of_data(whole, factor.node) for factor in factors)
