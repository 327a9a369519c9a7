"""Factors in learning rates and their steps that may be the number of towers, and that no other number changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from legacy.saved.graph import op_types
from workloads.lifted.graph import Graph, TensorId, parse_tensor_name
from workloads.lifted.plan import Plan

if TYPE_CHECKING:
    from legacy.saved.graph.imported import ImportedGraph

#: Ops that divide by their second input.
_QUOTIENTS = (*op_types.QUOTIENTS, "FloorDiv", "TruncateDiv")


def factors_of_rates(plan: Plan, graph: Graph, imported: ImportedGraph) -> list[str]:
    """Finds the ops that multiply learning rates, or steps that these follow, by the number of towers.

    A rate of 0.05 times the towers, or examples that are counted as steps times towers, is no other at other numbers of
    replicas. Where one rate alone has such a factor, as that of biases, it is a ratio of rates.

    Args:
      plan: of the graph.
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.

    Returns:
      The nodes, in order of the rates; none of a single tower.
    """
    rates = [effect.learning_rate for phase in plan.phases for effect in phase.effects if effect.learning_rate]
    found = [_factors_of(graph, imported, parse_tensor_name(rate), plan.towers) for rate in dict.fromkeys(rates)]
    if plan.towers < 2 or not all(found):
        return []
    return list(dict.fromkeys(name for names in found for name in names))


def _factors_of(graph: Graph, imported: ImportedGraph, rate: TensorId, towers: int) -> list[str]:
    """The ops before a rate that multiply a single number by the number of towers, or divide it by that."""
    seen, todo, found = {rate}, [rate], []
    while todo:
        tensor = todo.pop()
        inputs = graph.inputs(tensor.node)
        numbers = [imported.constant(*one) for one in inputs]
        is_single = imported.shape(*tensor) == ()
        if is_single and _scales_by(graph.type(tensor.node), numbers, towers):
            found.append(tensor.node)
        new = [one for one, number in zip(inputs, numbers) if number is None and is_single and one not in seen]
        seen.update(new)
        todo += reversed(new)
    return found


def _scales_by(kind: str, numbers: Sequence[object], towers: int) -> bool:
    """Whether an op on two numbers, None for those that are computed, multiplies or divides by the number of towers."""
    if kind in _QUOTIENTS:
        return numbers[0] is None and numbers[1] == towers
    return kind == "Mul" and None in numbers and towers in [number for number in numbers if number is not None]
