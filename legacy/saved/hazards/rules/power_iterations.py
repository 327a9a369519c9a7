"""Hazard of a spectral norm by one step from a vector that no op changes."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.variable_reads import variable_read, variables_behind
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: So many products has one step of the iteration, with the norm that follows from it.
MOST_PRODUCTS = 4


def iterations_that_begin_anew(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds weights over what one power iteration makes of them and of a vector that stays; one hazard for all."""
    graph = whole.graph
    for name in [name for name in whole.minimized_ops(*op_types.QUOTIENTS) if not is_gradient_op(name)]:
        weight = _weight(whole, graph.inputs(name)[0].node)
        norm = graph.inputs(name)[1].node
        behind = variables_behind(graph, norm) if weight else set()
        fixed = sorted(behind - whole.trainable - set(whole.writes.values()))
        if behind != {weight, *fixed} or len(fixed) != 1 or norm in whole.data:
            continue
        products = [node for node in graph.ancestors([norm], controls=False) if graph.type(node) == "MatMul"]
        if 2 < len(products) <= MOST_PRODUCTS:
            yield Hazard(
                "POWER_ITERATION_BEGINS_ANEW",
                name,
                f"{name} divides {weight} by the norm that one power iteration from {fixed[0]} gives, and no op "
                f"changes {fixed[0]}: each step begins at the same vector, so that the norm stays a rough guess",
                "assign the new vector in each step, or iterate more often; for parity keep it",
            )
            return


def _weight(whole: WholeGraph, name: str) -> str:
    """The trained weight that a node is, perhaps in another shape; "" of any other node."""
    while whole.graph.type(name) in ("Reshape", "Transpose") and whole.graph.inputs(name):
        name = whole.graph.inputs(name)[0].node
    weight = variable_read(whole.graph, name)
    return weight if weight in whole.trainable else ""
