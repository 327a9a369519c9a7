"""The form in which an old graph averages its towers' gradients: forms differ by rounding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow as tf

from workloads.lifted.graph import Graph, parse_tensor_name

if TYPE_CHECKING:
    from workloads.lifted.plan import Combine, Plan

_ADDITIONS = ("AddN", "Add", "AddV2")
#: The form of a sum that is multiplied by one over the number of towers.
RECIPROCAL = "add_n_reciprocal"
#: Part of one by which a constant times the number of towers may differ from one.
_NEAR_ONE = 1e-6


def average_form(plan: Plan, graph: Graph) -> str:
    """Returns the form of the first gradient that a lift combines by ops of its own; "stack" where there is none.

    Args:
      plan: of the lift.
      graph: of the lift.

    Returns:
      "stack", "add_n" or "add_n_reciprocal"; see `workloads.numerics.combining.combine`.
    """
    found = (form_of(graph, combine, plan.towers) for combine in plan.phases[0].combine)
    return next(filter(None, found), "stack")


def form_of(graph: Graph, combine: Combine, towers: int) -> str:
    """Returns the form in which a graph averages one result of its towers.

    Args:
      graph: of the lift.
      combine: the result.
      towers: number of towers.

    Returns:
      The form as `average_form` has it; "" where no ops add anything.
    """
    parts = [parse_tensor_name(name).node for tower in combine.parts for name in tower]
    between = graph.ancestors([parse_tensor_name(combine.tensor).node], parts, controls=False) - set(parts)
    types = {graph.type(name) for name in between}
    if types & {"Mean", "Sum"}:
        return "stack"
    if types.intersection(_ADDITIONS):
        multiplied = any(_multiplies_by_reciprocal(graph, name, towers) for name in between)
        return RECIPROCAL if multiplied and division_rounds(towers) else "add_n"
    return ""


def division_rounds(towers: int) -> bool:
    """Returns whether a division by a number of towers rounds: all do but those by powers of two."""
    return towers & (towers - 1) != 0


def _multiplies_by_reciprocal(graph: Graph, name: str, towers: int) -> bool:
    """Returns whether a node multiplies by the constant 1 / towers."""
    if graph.type(name) != "Mul":
        return False
    constants = [graph.nodes[t.node] for t in graph.inputs(name) if graph.type(t.node) == "Const"]
    numbers = [tf.make_ndarray(node.attr["value"].tensor) for node in constants]
    return any(number.size == 1 and abs(number.item() * towers - 1.0) < _NEAR_ONE for number in numbers)
