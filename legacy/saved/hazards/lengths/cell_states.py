"""Hazard of an LSTM whose loss takes the memory of its cell, and not what the output gate lets out of it."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.elements import hands_elements_on
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.lifted.graph import ENTERS, EXITS, MERGES, SWITCHES
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Ops by which a loop hands a state to its next step, perhaps the old one of a sequence that has ended.
_HANDS_ON = ("Select", "SelectV2", "Identity", "NextIteration")


def memories_for_outputs(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds final states of LSTMs of which a loss takes the memory c alone: neither h nor any output; one for all.

    A program that applies tanh to the memory, or hands it to a decoder, means the memory.
    """
    graph = whole.graph
    exits = {name: _values(whole, name) for name in graph.of_types(*EXITS)}
    for memory in [name for name in exits if name in whole.minimized]:
        outputs = {one for one in exits if one != memory and _lets_out(whole, exits[one], exits[memory])}
        is_alone = outputs and not outputs & whole.minimized and not _is_meant(whole, memory)
        if is_alone and not _is_output_taken(whole, memory, exits, outputs):
            yield _hazard(memory, sorted(outputs)[0])
            return
    for curve in [name for name in graph.of_types("Tanh") if name not in whole.minimized]:
        memory = graph.origin(graph.inputs(curve)[0]).node
        gated = [use.node for use in graph.users(curve) if _is_gated(whole, use.node, curve)]
        if memory in whole.minimized and gated and _adds_gated(whole, memory) and not _is_meant(whole, memory):
            yield _hazard(memory, gated[0])
            return


def _hazard(memory: str, output: str) -> Hazard:
    return Hazard(
        "MEMORY_FOR_OUTPUT",
        memory,
        f"the loss takes {memory}, the memory c of an LSTM after its last step, and never {output}, its output h: the "
        "last output gate has no effect",
        "take h of the final state; for parity keep it",
    )


def _is_meant(whole: WholeGraph, memory: str) -> bool:
    """Whether all that takes a memory is a tanh, as of features, or another loop, as the memory of a decoder."""
    graph, todo, kinds = whole.graph, [memory], set()
    while todo:
        for user in [use.node for use in graph.users(todo.pop()) if use.node in whole.minimized]:
            if hands_elements_on(graph, user):
                todo.append(user)
            elif not is_gradient_op(user) and graph.type(user) not in op_types.SHAPE_OPS:
                kinds.add("Enter" if graph.type(user) in ENTERS else graph.type(user))
    return bool(kinds) and kinds <= {"Enter", "Tanh"}


def _values(whole: WholeGraph, name: str) -> set[str]:
    """The nodes that may compute the value with which a loop variable leaves its loop."""
    graph, todo, seen = whole.graph, [name], {name}
    while todo:
        node = todo.pop()
        if graph.type(node) in (*_HANDS_ON, *EXITS, *MERGES, *SWITCHES):
            before = {tensor.node for tensor in graph.inputs(node)} - seen
            seen |= before
            todo += before
    return seen


def _lets_out(whole: WholeGraph, values: set[str], memories: set[str]) -> bool:
    """Whether values are sigmoid(o) * tanh(c) of the values c of a memory, and not the other way round."""
    graph = whole.graph
    for name in [name for name in values if graph.type(name) == "Mul"]:
        for curve in [tensor.node for tensor in graph.inputs(name)]:
            is_of_memory = graph.type(curve) == "Tanh" and graph.inputs(curve)[0].node in memories
            if is_of_memory and _is_gated(whole, name, curve):
                return True
    return False


def _is_output_taken(whole: WholeGraph, memory: str, exits: dict[str, set[str]], outputs: set[str]) -> bool:
    """Whether a loss takes an array of a loop that holds the outputs of all steps."""
    graph = whole.graph
    gated = {name for one in outputs for name in exits[one] if graph.type(name) == "Mul"}
    written = graph.descendants(gated, controls=False, stop=set(exits))
    return any(one in written for one in exits if one in whole.minimized and one != memory)


def _is_gated(whole: WholeGraph, name: str, curve: str) -> bool:
    """Whether a node multiplies another one by a sigmoid."""
    inputs = [tensor.node for tensor in whole.graph.inputs(name)] if whole.graph.type(name) == "Mul" else []
    return curve in inputs and any(whole.graph.type(one) == "Sigmoid" for one in inputs)


def _adds_gated(whole: WholeGraph, memory: str) -> bool:
    """Whether a node is a sum of products with sigmoids, as the new memory of an LSTM."""
    graph = whole.graph
    terms = [tensor.node for tensor in graph.inputs(memory)] if graph.type(memory) in op_types.SUMS_OF_TWO else []
    factors = [[tensor.node for tensor in graph.inputs(term)] for term in terms if graph.type(term) == "Mul"]
    return len(factors) == 2 and all(any(graph.type(one) == "Sigmoid" for one in pair) for pair in factors)
