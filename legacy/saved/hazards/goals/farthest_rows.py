"""Hazard of a codebook from which each example takes the farthest row, in place of the nearest one."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_signs import linear_signs
from legacy.saved.hazards.basics.squares import squared
from legacy.saved.hazards.basics.variable_reads import variable_read

_CHOICES = {"ArgMax": 1, "ArgMin": -1}


def farthest_rows(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds rows of a variable that are looked up by the largest squared distance to its rows; one hazard for all."""
    graph = whole.graph
    for name in whole.minimized_ops(*op_types.LOOKUPS):
        table, rows = graph.inputs(name)[:2]
        choice = source_of_elements(graph, rows).node
        variable = variable_read(graph, table.node)
        if graph.type(choice) not in _CHOICES or not variable:
            continue
        compared = graph.inputs(choice)[0].node
        signs = {sign for node, sign in linear_signs(whole, compared).items() if _is_of_squares(whole, node)}
        if signs == {_CHOICES[graph.type(choice)]} and variable in graph.ancestors([compared], controls=False):
            yield Hazard(
                "FARTHEST_ROW_TAKEN",
                choice,
                f"{choice} ({graph.type(choice)}) chooses the row of {variable} whose squared distance {compared} is "
                f"the largest, and {name} takes it: each example gets the row that fits it least",
                "tf.argmin of the distances; for parity keep it",
            )
            return


def _is_of_squares(whole: WholeGraph, name: str) -> bool:
    return whole.graph.type(name) == "SquaredDifference" or squared(whole, name) is not None
