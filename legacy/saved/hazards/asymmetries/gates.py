"""Hazard of a gate that weights the old and the new state alike, in place of z and 1 - z."""

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
        if len(gates) == 1 and len(states) == 2 and any(_follows(whole, *pair) for pair in (states, states[::-1])):
            yield Hazard(
                "GATE_OF_BOTH_STATES",
                name,
                f"{name} adds {states[0]} and {states[1]}, both multiplied by the gate {gates[0]}: an open gate adds "
                "the new state to the old one, and a closed gate discards both",
                "multiply one by z and the other by 1 - z; for parity keep it",
            )
            return


def _follows(whole: WholeGraph, candidate: str, state: str) -> bool:
    """Whether a candidate is a tanh of what depends on the state before it."""
    is_tanh = whole.graph.type(candidate) == "Tanh" and candidate != state
    return is_tanh and bool(_states(whole, state) & whole.graph.ancestors([candidate], controls=False))


def _states(whole: WholeGraph, name: str) -> set[str]:
    """A state, with the copies that loops make of it."""
    graph, found = whole.graph, {name}
    while graph.type(name) in ("Identity", "Switch") and graph.inputs(name):
        name = graph.inputs(name)[0].node
        found.add(name)
    return found


def _is_gate(whole: WholeGraph, name: str) -> bool:
    if whole.graph.type(name) == "Sub" and whole.value(whole.graph.inputs(name)[0].node) == 1:
        name = whole.graph.origin(whole.graph.inputs(name)[1]).node
    return whole.graph.type(name) == "Sigmoid"
