"""Factors of losses, learning rates and their steps that may be the number of towers, and that stay at another one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from legacy.saved.graph import op_types
from workloads.lifted.graph import Graph, TensorId, parse_tensor_name
from workloads.lifted.plan import Plan

if TYPE_CHECKING:
    from legacy.saved.graph.imported import ImportedGraph

#: Ops that divide by their second input.
_QUOTIENTS = (*op_types.QUOTIENTS, "FloorDiv", "TruncateDiv")


def factors_of_towers(plan: Plan, graph: Graph, imported: ImportedGraph) -> list[str]:
    """Finds the ops that multiply learning rates, steps that these follow, or whole losses by the number of towers.

    A rate of 0.05 times the towers, or examples that are counted as steps times towers, is no other at other numbers of
    replicas. Where one rate or loss alone has such a factor, as the rate of biases, it is a ratio of them.

    Args:
      plan: of the graph.
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.

    Returns:
      The nodes, those of rates first; none of a single tower.
    """
    if plan.towers < 2:
        return []
    rates = [effect.learning_rate for phase in plan.phases for effect in phase.effects if effect.learning_rate]
    losses = [loss for phase in plan.phases for loss in phase.losses]
    found: list[str] = []
    for names, find in ((rates, _factors_of_rate), (losses, _factors_of_loss)):
        own = [find(graph, imported, parse_tensor_name(name), plan.towers) for name in dict.fromkeys(names)]
        found += [factor for factors in own for factor in factors] if all(own) else []
    return list(dict.fromkeys(found))


def _factors_of_rate(graph: Graph, imported: ImportedGraph, rate: TensorId, towers: int) -> list[str]:
    """The ops before a rate that multiply a single number by the number of towers, or divide it by that."""
    seen, todo, found = {rate}, [rate], []
    while todo:
        tensor = todo.pop()
        if imported.shape(*tensor) == ():
            inputs = graph.inputs(tensor.node)
            if _scales_by(graph.type(tensor.node), [imported.constant(*one) for one in inputs], towers):
                found.append(tensor.node)
            new = [one for one in inputs if one not in seen]
            seen.update(new)
            todo += reversed(new)
    return found


def _factors_of_loss(graph: Graph, imported: ImportedGraph, loss: TensorId, towers: int) -> list[str]:
    """The op that multiplies a whole loss by the number of towers, or none."""
    while graph.type(loss.node) in ("Identity", "Mul"):
        inputs = graph.inputs(loss.node)
        numbers = [imported.constant(*one) for one in inputs]
        if graph.type(loss.node) == "Mul" and _scales_by("Mul", numbers, towers):
            return [loss.node]
        computed = [one for one, number in zip(inputs, numbers) if number is None]
        if len(computed) != 1:
            break
        (loss,) = computed
    return []


def _scales_by(kind: str, numbers: Sequence[Any], towers: int) -> bool:
    """Whether an op on two numbers, None for those that are computed, multiplies or divides by the number of towers."""
    taken = numbers[1:] if kind in _QUOTIENTS else numbers if kind == "Mul" else ()
    return any(number is not None and np.ndim(number) == 0 and number == towers for number in taken)
