"""Constants that may, or may not, follow the number of towers, so that a graph does not tell what others would have."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from legacy.saved.graph import op_types
from workloads.lifted.graph import Graph, TensorId, parse_tensor_name
from workloads.lifted.plan import Combine, Phase, Plan, is_indices_label
from workloads.lifted.reduction_factors import sums_over_all_examples, sums_to_mean

if TYPE_CHECKING:
    from legacy.saved.graph.imported import ImportedGraph

#: Relative difference within which a float32 number is a fraction.
_TOLERANCE = 1e-6
_COPIES = ("Identity", "Cast", *op_types.VIEWS)


def doubted_factors(
    plan: Plan, graph: Graph, imported: ImportedGraph, has_its_own: Callable[[Phase], bool]
) -> Iterator[str]:
    """Yields the reasons why constants on losses and gradients leave other numbers of towers open.

    Args:
      plan: of the graph.
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      has_its_own: whether the losses' factor of one over the towers may be one of their own.

    Yields:
      The reasons.
    """
    for phase in plan.phases if plan.towers > 1 else ():
        sums = [one for one in phase.combine if one.kind in ("sum", "concat") and not is_indices_label(one.weight)]
        plain = [one for one in sums if one.scale == 1.0]
        is_part = sums_to_mean(phase, plan.towers) and not sums_over_all_examples(phase, plan.towers)
        if plain and is_part and has_its_own(phase):
            yield f"the losses' factor of {phase.loss_scale:g} may be one over the towers, or one of their own"
        for combine in sums:
            effects = [e for e in phase.effects if combine.weight in e.writes[:1] and op_types.is_apply(e.op)]
            end = effects[0].gradient if effects and not combine.divided else None
            factor, reached = _last_factor(graph, imported, parse_tensor_name(end)) if end else (1.0, None)
            yield from _of_sum(combine, end, factor, reached, graph, plan.towers)


def penalty_is_divided(
    graph: Graph, imported: ImportedGraph, masks: Mapping[str, int], target: str, towers: int
) -> bool:
    """Returns whether a loss is the sum of all towers' losses and of a penalty, and their number divides both.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      masks: {node: bit set}; see `Towers`.
      target: the node of the loss.
      towers: number of towers.

    Returns:
      The answer; no where the losses alone are divided.
    """
    factor, reached = _last_factor(graph, imported, TensorId(target, 0))
    if abs(factor * towers - 1) > _TOLERANCE:
        return False
    todo, own, seen = [reached], False, {reached}
    while todo:
        tensor = todo.pop()
        of_towers = masks.get(tensor.node, 0) >> 1
        if graph.type(tensor.node) in op_types.ADDITIONS and (not of_towers or of_towers & (of_towers - 1)):
            new = [one for one in graph.inputs(tensor.node) if one not in seen]
            seen.update(new)
            todo += new
        else:
            own = own or (not of_towers and imported.constant(*tensor) is None)
    return own and reached.node != target


def _of_sum(
    combine: Combine, end: str | None, factor: float, reached: TensorId | None, graph: Graph, towers: int
) -> Iterator[str]:
    """Yields a reason where a sum is divided by the towers behind another op, or by the root of their number.

    Args:
      combine: of the gradients of one weight.
      end: the tensor that its update takes; None where that is nothing to judge.
      factor: the product of the constants that multiply it at last.
      reached: the tensor that these multiply; None where that is nothing to judge.
      graph: the subgraph that a step runs.
      towers: number of towers.
    """
    if end is not None and abs(combine.scale * math.sqrt(towers) - 1) < _TOLERANCE:
        yield f"gradients are added up and multiplied by {combine.scale:g}, one over the root of the towers"
    is_divided = combine.scale == 1.0 and abs(factor * towers - 1) < _TOLERANCE
    if reached is not None and is_divided and reached.name != combine.tensor:
        between = f"{reached.node} ({graph.type(reached.node)})"
        yield f"gradients are added up, and multiplied by {factor:g} behind another op, {between}"


def _last_factor(graph: Graph, imported: ImportedGraph, tensor: TensorId) -> tuple[float, TensorId]:
    """The product of the constants that multiply a tensor at last, and the tensor that they multiply."""
    factor = 1.0
    while True:
        kind, inputs = graph.type(tensor.node), graph.inputs(tensor.node)
        number, own = None, 0
        if kind in op_types.SCALINGS:
            constants = [imported.constant(*one) for one in inputs]
            own = 1 if kind == "Mul" and constants[1] is None else 0
            number = constants[1 - own] if constants[own] is None else None
        if number is not None and np.ndim(number) == 0 and number:
            factor *= float(number) if kind == "Mul" else 1.0 / float(number)
        elif kind not in _COPIES or not inputs:
            return factor, tensor
        tensor = inputs[own]
