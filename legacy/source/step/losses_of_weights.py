"""The losses of a train op that minimizes several, and the one that each weight's gradient is of."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Dict, List, Sequence

from legacy.saved.analysis.losses import differentiations
from legacy.source.basics.unwritten import Unwritten
from legacy.source.step.derivatives import weight_gradients
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.plan import is_indices_label
from workloads.support.wording import counted

if TYPE_CHECKING:
    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Phase, Plan


def losses_of_tower(phase: Phase, tower: int) -> List[str]:
    """Returns the tensors of a tower's losses: the one that is reported, then the others."""
    return [row[tower] for row in [phase.losses, *phase.other_losses]]


def with_minimized_losses(plan: Plan, graph: Graph) -> Plan:
    """Returns the plan without losses that no weight's gradient is of, such as one that is only differentiated to look.

    Args:
      plan: of the lift, with derivatives.
      graph: of the lift.

    Returns:
      The plan.
    """
    return dataclasses.replace(plan, phases=[_with_minimized(plan, graph, phase) for phase in plan.phases])


def _with_minimized(plan: Plan, graph: Graph, phase: Phase) -> Phase:
    if not phase.other_losses:
        return phase
    used = set(losses_of_weights(plan, graph, phase, 0).values())
    others = [row for number, row in enumerate(phase.other_losses, 1) if number in used]
    return dataclasses.replace(phase, other_losses=others)


def losses_of_weights(plan: Plan, graph: Graph, phase: Phase, tower: int) -> Dict[str, int]:
    """Finds the loss that each weight's gradient is of.

    Args:
      plan: of the lift, with derivatives.
      graph: of the lift.
      phase: the train op.
      tower: number of the tower.

    Returns:
      {weight: number of its loss among `losses_of_tower`}.

    Raises:
      Unwritten: a gradient is of several losses, or the graph does not tell of which one.
    """
    gradients = weight_gradients(plan, graph, phase, tower)
    weights = {name: tensor for name, tensor in gradients.items() if not is_indices_label(name)}
    if not phase.other_losses:
        return dict.fromkeys(weights, 0)
    starts = differentiations(graph, graph.ancestors([phase.train_op]))
    losses = losses_of_tower(phase, tower)
    numbers = {root: _number_of(graph, targets, losses) for root, targets in starts.items()}
    found: Dict[str, int] = {}
    for name, tensor in weights.items():
        before = graph.ancestors([parse_tensor_name(tensor).node], controls=False)
        own = {number for root, number in numbers.items() if root in before}
        if len(own) != 1 or None in own:
            raise Unwritten(f"loss: the gradient of {name!r} is of {counted(len(own), 'loss', 'losses')}")
        found.update((name, number) for number in own if number is not None)
    return found


def _number_of(graph: Graph, targets: Sequence[str], losses: Sequence[str]) -> int | None:
    """Returns the number of the loss that is differentiated, or that what is differentiated is made from."""
    nodes = [parse_tensor_name(tensor).node for tensor in losses]
    found = [number for number, node in enumerate(nodes) if node in targets]
    if not found:
        before = graph.ancestors(targets, controls=False)
        found = [number for number, node in enumerate(nodes) if node in before]
    return found[0] if len(found) == 1 else None
