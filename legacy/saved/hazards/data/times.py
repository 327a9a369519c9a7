"""Hazard of sequences that are split for the towers along the dimension that an RNN takes as time."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.inputs.parts import split_dimension
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.tensors.gradient_names import is_gradient_op


def split_along_time(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds inputs split along their first dimension that an RNN of a tower takes as time."""
    graph, imported = whole.graph, found.context.imported
    for entry in found.plan.inputs if found.plan.towers > 1 else []:
        nodes = [parse_tensor_name(tensor).node for tensor in entry.tensors]
        is_split = all(graph.type(node) in op_types.SPLITS for node in nodes if node in graph.nodes)
        if not is_split or any(node not in graph.nodes for node in nodes) or len(set(entry.tensors)) < len(nodes):
            continue
        if any(split_dimension(found.cut.graph, imported, node) for node in nodes):
            continue
        loops = [loop for node in dict.fromkeys(nodes) for loop in _loops_over(whole, node)]
        if loops:
            yield Hazard(
                "SPLIT_ALONG_TIME",
                nodes[0],
                f"{nodes[0]} splits {entry.name} along its first dimension, and {loops[0]} passes the parts row by "
                "row to an RNN: if that dimension is time, no tower gets a complete sequence; if it is the batch, "
                "the RNN treats examples as time steps, as with time_major=True",
                "split along the batch, and run the RNN along time; for parity, do as the old graph does",
            )
            return


def _loops_over(whole: WholeGraph, name: str) -> list[str]:
    """Ops that hand a node's outputs, one row after the other, to a loop that keeps a state computed with weights."""
    graph, todo, found = whole.graph, [name], []
    while todo:
        for user, position, _ in graph.users(todo.pop()):
            if graph.type(user) in op_types.COPIES:
                todo.append(user)
            elif graph.type(user).startswith("TensorArrayScatter") and position == 2 and _is_recurrent(whole, user):
                found.append(user)
    return found


def _is_recurrent(whole: WholeGraph, scatter: str) -> bool:
    """Whether the rows that an op writes to an array enter a loop's state, with trained weights."""
    graph = whole.graph
    read = graph.descendants([scatter], controls=False, stop=set(graph.of_types("NextIteration")))
    for name in read:
        if graph.type(name) != "NextIteration" or is_gradient_op(name):
            continue
        before = graph.inputs(name)[0].node
        if graph.type(before).startswith("TensorArray"):
            continue
        inside = graph.ancestors([before], set(graph.of_types("Merge")), controls=False)
        merges = {graph.type(use.node) for use in graph.users(name)}
        if "Merge" in merges and any(graph.type(n) == "MatMul" for n in inside & read):
            return True
    return False
