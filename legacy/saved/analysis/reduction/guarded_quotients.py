"""Choices between a sum over a count and another number, which only a batch without any that count takes."""

from __future__ import annotations

from collections.abc import Sequence

from legacy.saved.graph import op_types
from legacy.saved.graph.imported import ImportedGraph
from workloads.lifted.graph import Graph, TensorId

#: Ops through which a count comes into a branch, or is compared.
_PASSES = ("Identity", "Cast", "Switch", "Squeeze", "Reshape")
#: Comparisons of a count with a constant.
_COMPARISONS = ("Greater", "GreaterEqual", "Less", "LessEqual", "Equal", "NotEqual")


def without_guard(graph: Graph, imported: ImportedGraph, choice: str) -> Sequence[TensorId]:
    """Returns the values that a choice gives, without those of batches in which a count is 0.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      choice: a Merge, or a Select, which is given its condition first.

    Returns:
      Where the condition compares the divisor of one value with a constant, that value alone; else all values.
    """
    inputs = graph.inputs(choice)
    values = inputs if graph.type(choice) == "Merge" else inputs[1:]
    guarded = [value for value in values if _is_guarded(graph, imported, choice, graph.origin(value))]
    return guarded if len(guarded) == 1 else values


def _is_guarded(graph: Graph, imported: ImportedGraph, choice: str, value: TensorId) -> bool:
    """Whether a value is a quotient, the divisor of which the condition of a choice compares with a constant."""
    if graph.type(value.node) not in op_types.QUOTIENTS:
        return False
    through = _passed(graph, graph.inputs(value.node)[1])
    if graph.type(choice) == "Merge":
        switches = [name for name in through if graph.type(name) == "Switch"]
        conditions = [graph.inputs(name)[1] for name in switches]
    else:
        conditions = [graph.inputs(choice)[0]]
    compared = [graph.origin(condition).node for condition in conditions]
    return any(
        imported.constant(*bound) is not None and _passed(graph, count)[-1] == through[-1]
        for name in compared
        if graph.type(name) in _COMPARISONS
        for count, bound in (graph.inputs(name), graph.inputs(name)[::-1])
    )


def _passed(graph: Graph, tensor: TensorId) -> list[str]:
    """The nodes from a tensor back to the op that computes it."""
    names = [tensor.node]
    while graph.type(names[-1]) in _PASSES:
        names.append(graph.inputs(names[-1])[0].node)
    return names
