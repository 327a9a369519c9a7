"""Sums of all towers' losses that a program divides by a number of all towers' data, as the sum of all lengths.

Each tower's gradients then begin with a number that follows from data alone, as they may with a result of all towers.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, List, Optional, Set

from legacy.source.step.derivatives import raw_gradients, types_of
from workloads.lifted.graph import TensorId, parse_tensor_name
from workloads.lifted.made_up_data import part_of_whole

if TYPE_CHECKING:
    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Phase, Plan


def with_returned_numbers(plan: Plan, graph: Graph) -> Plan:
    """Returns a plan in which numbers of all towers' data that gradients begin with are what returns to the towers.

    Args:
      plan: of the lift.
      graph: of the lift.

    Returns:
      The plan.
    """
    entries = plan.inputs + plan.common
    wholes = {tensor for entry in entries if part_of_whole(entry, entries) for tensor in entry.tensors}
    if not wholes:
        return plan
    phases, found = [], []
    for phase in plan.phases:
        number = _number(plan, graph, phase, {parse_tensor_name(tensor).node for tensor in wholes})
        if number is not None:
            phase = dataclasses.replace(phase, returns=[[number.name]] * plan.towers)
            found.append(number.name)
        phases.append(phase)
    return dataclasses.replace(plan, phases=phases, tensors={**plan.tensors, **types_of(graph, found)})


def _number(plan: Plan, graph: Graph, phase: Phase, wholes: Set[str]) -> Optional[TensorId]:
    """Returns the one number of all towers' data that every tower's gradients depend on, and no tower's loss.

    Args:
      plan: of the lift.
      graph: of the lift.
      phase: the train op.
      wholes: nodes of the data that all towers have.

    Returns:
      The tensor; None if there is no such one.
    """
    if not phase.shared_loss or phase.loss_scale != 1.0 or phase.other_losses or any(phase.returns) or phase.early:
        return None
    losses = graph.ancestors([parse_tensor_name(loss).node for loss in phase.losses], controls=False)
    members: List[Set[str]] = []
    for tower in range(plan.towers):
        ends = [parse_tensor_name(tensor).node for tensor in raw_gradients(graph, phase, tower).values()]
        members.append(graph.ancestors(ends, controls=False) - losses)
    alone = {one.node for entry in plan.inputs for one in map(parse_tensor_name, entry.tensors)} - wholes
    alone |= {variable.name for variable in plan.variables}
    shared = graph.descendants(wholes, controls=False) & members[0].intersection(*members)
    shared -= graph.descendants(alone, controls=False)
    later = members[0].union(*members) - shared
    found = {TensorId(name, use.output) for name in shared for use in graph.users(name) if use.node in later}
    return found.pop() if len(found) == 1 else None
