"""Losses whose penalties reach the update by themselves, as where one optimizer minimizes the sum of all losses.

There the derivative of a tower's penalty is none of the gradients that the tower computes of its data: the update adds
it to them, in an order of its own. So a replica differentiates the terms of its loss that depend on data alone.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, List, NamedTuple, Set

from legacy.saved.analysis.loss_terms import constant_factor
from legacy.saved.graph import op_types
from workloads.lifted.graph import parse_tensor_name

if TYPE_CHECKING:
    from collections.abc import Collection

    from workloads.lifted.graph import Graph, TensorId
    from workloads.lifted.plan import Phase, Plan

#: Ops whose result is the sum of their inputs, and ops that may multiply by a constant.
_SUMS = (*op_types.ADDITIONS, "Identity")
_PRODUCTS = ("Mul", "RealDiv", "Div")


class DataTerm(NamedTuple):
    """A term of a loss.

    Attributes:
      tensor: the term without the constants that it is multiplied by.
      factor: the product of these constants.
    """

    tensor: TensorId
    factor: float


def with_data_terms(plan: Plan, graph: Graph) -> Plan:
    """Returns the plan in which losses whose penalties reach the update by themselves have their other terms as rows.

    Args:
      plan: of the lift, with derivatives.
      graph: of the lift.

    Returns:
      The plan: such a train op has the terms that depend on data as `other_losses`, and `minimized` names them.
    """
    return dataclasses.replace(plan, phases=[_with_terms(plan, graph, phase) for phase in plan.phases])


def _with_terms(plan: Plan, graph: Graph, phase: Phase) -> Phase:
    if not phase.shared_loss or phase.other_losses or not any(combine.affine for combine in phase.combine):
        return phase
    behind = _behind_data(plan, graph)
    terms = [terms_of_data(graph, parse_tensor_name(loss), behind) for loss in phase.losses]
    rows = [[term.tensor.name for term in row] for row in zip(*terms)]
    factors = [[term.factor for term in own] for own in terms]
    if rows == [phase.losses] or any(own != factors[0] for own in factors):
        return phase
    scales = [phase.loss_scale * factor for factor in factors[0]]
    return dataclasses.replace(phase, other_losses=rows, other_scales=scales, minimized=list(range(1, 1 + len(rows))))


def _behind_data(plan: Plan, graph: Graph) -> Set[str]:
    """Returns the nodes that depend on the towers' data or random numbers."""
    starts = [parse_tensor_name(tensor).node for entry in plan.inputs for tensor in entry.tensors]
    starts += [node for noise in plan.noise for node in noise.nodes if node]
    found, todo = set(starts), starts
    while todo:
        new = {use.node for use in graph.users(todo.pop())} - found
        found |= new
        todo += new
    return found


def terms_of_data(graph: Graph, loss: TensorId, behind: Collection[str]) -> List[DataTerm]:
    """Returns the terms of a loss that depend on data, without those that do not; a sum of such alone is one term.

    Args:
      graph: of the lift.
      loss: the tensor.
      behind: the nodes that depend on data.

    Returns:
      The terms, in their order; the loss itself where no term is left out.
    """
    if loss.node not in behind:
        return []
    factor = 1.0 if graph.type(loss.node) in _SUMS else None
    if graph.type(loss.node) in _PRODUCTS:
        factor = constant_factor(graph, loss.node)
    if factor is None:
        return [DataTerm(loss, 1.0)]
    parts = [part for part in graph.inputs(loss.node) if graph.type(part.node) != "Const"]
    found = [terms_of_data(graph, part, behind) for part in parts]
    if all(own == [DataTerm(part, 1.0)] for own, part in zip(found, parts)):
        return [DataTerm(loss, 1.0)]
    return [DataTerm(term.tensor, factor * term.factor) for own in found for term in own]
