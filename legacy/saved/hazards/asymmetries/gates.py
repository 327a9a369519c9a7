"""Hazard of a gate that weighs the old and the new state alike, in place of z and 1 - z."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.lifted.tensors.gradient_names import is_gradient_op


def gates_of_both_states(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds z h + z c with one gate z, a sigmoid or 1 less one, and a candidate c; one hazard for all."""
    graph = whole.graph
    for name in whole.minimized_ops(*op_types.ADDITIONS):
        terms = [graph.origin(tensor).node for tensor in graph.inputs(name)]
        if is_gradient_op(name) or [graph.type(term) for term in terms] != ["Mul", "Mul"]:
            continue
        one, other = ([graph.origin(tensor).node for tensor in graph.inputs(term)] for term in terms)
        gates = [factor for factor in one if factor in other and _is_gate(whole, factor)]
        states = [factor for factor in one + other if factor not in gates]
        if len(gates) == 1 and len(states) == 2 and "Tanh" in [graph.type(state) for state in states]:
            yield Hazard(
                "GATE_OF_BOTH_STATES",
                name,
                f"{name} adds {states[0]} and {states[1]}, both times the gate {gates[0]}: where it opens for the one, "
                "it keeps the other, too, so that states add up, and where it closes, both are lost",
                "z and 1 - z; for parity keep it",
            )
            return


def _is_gate(whole: WholeGraph, name: str) -> bool:
    if whole.graph.type(name) == "Sub" and whole.value(whole.graph.inputs(name)[0].node) == 1:
        name = whole.graph.origin(whole.graph.inputs(name)[1]).node
    return whole.graph.type(name) == "Sigmoid"
