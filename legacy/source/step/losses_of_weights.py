"""The losses of a train op that minimizes several, and those that each weight's gradient is of."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Dict, List, Mapping, Sequence, Tuple

from legacy.saved.graph.differentiation import differentiations
from legacy.source.basics.unwritten import Unwritten
from legacy.source.step.derivatives import weight_gradients
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.plan import is_indices_label

if TYPE_CHECKING:
    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Phase, Plan

#: Part of one by which a factor on the losses may differ from one.
_NEAR_ONE = 1e-6


def losses_of_tower(phase: Phase, tower: int) -> List[str]:
    """Returns the tensors of a tower's losses: the one that is reported, then the others."""
    return [row[tower] for row in [phase.losses, *phase.other_losses]]


def loss_scales(phase: Phase) -> List[float]:
    """Returns the factor on each of a tower's losses in one loss of all towers; empty if all are one."""
    if not phase.shared_loss:
        return []
    scales = [phase.loss_scale, *phase.scales_of_others]
    if phase.minimized:  # the whole loss is reported alone
        scales[0] = scales[1]
    return scales if any(abs(scale - 1.0) > _NEAR_ONE for scale in scales) else []


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
    used = {number for numbers in losses_of_weights(plan, graph, phase, 0).values() for number in numbers}
    others = [row for number, row in enumerate(phase.other_losses, 1) if number in used]
    scales = [scale for number, scale in enumerate(phase.other_scales, 1) if number in used]
    return dataclasses.replace(phase, other_losses=others, other_scales=scales)


def require_losses(phase: Phase) -> None:
    """Raises `Unwritten` if the graph does not tell what each tower minimizes in a train op."""
    if not phase.losses:
        trained = [tower for tower, gradients in enumerate(phase.gradients) if gradients]
        alone = f"{phase.train_op} differentiates the loss of tower {trained[0]} alone" if len(trained) == 1 else ""
        raise Unwritten("loss: " + (alone or "the gradients do not tell what is minimized"))


def losses_of_weights(plan: Plan, graph: Graph, phase: Phase, tower: int) -> Dict[str, Tuple[int, ...]]:
    """Finds the losses that each weight's gradient is of: one, or several whose sum is minimized.

    Args:
      plan: of the lift, with derivatives.
      graph: of the lift.
      phase: the train op.
      tower: number of the tower.

    Returns:
      {weight: numbers of its losses among `losses_of_tower`}.

    Raises:
      Unwritten: the graph does not tell of which losses a gradient is.
    """
    gradients = weight_gradients(plan, graph, phase, tower)
    weights = {name: tensor for name, tensor in gradients.items() if not is_indices_label(name)}
    found = losses_of_gradients(graph, phase, tower, weights)
    if phase.minimized or not phase.other_losses:
        return found
    return differentiated_together(graph, losses_of_tower(phase, tower), found)


def losses_of_gradients(
    graph: Graph, phase: Phase, tower: int, gradients: Mapping[str, str]
) -> Dict[str, Tuple[int, ...]]:
    """Finds the losses that some gradients are of.

    Args:
      graph: of the lift.
      phase: the train op.
      tower: number of the tower.
      gradients: {weight: tensor} of the tower.

    Returns:
      {weight: numbers of its losses among `losses_of_tower`}.

    Raises:
      Unwritten: the graph does not tell.
    """
    if phase.minimized or not phase.other_losses:
        return dict.fromkeys(gradients, tuple(phase.minimized) or (0,))
    # A train op that is an update itself, as of a step counter, keeps no control edges from the others.
    ends = [phase.train_op, *(parse_tensor_name(tensor).node for tensor in gradients.values())]
    starts = differentiations(graph, graph.ancestors(ends))
    losses = losses_of_tower(phase, tower)
    numbers = {root: _numbers_of(graph, targets, losses) for root, targets in starts.items()}
    found: Dict[str, Tuple[int, ...]] = {}
    bits = {root: 1 << number for number, root in enumerate(numbers)}
    nodes = [parse_tensor_name(tensor).node for tensor in gradients.values()]
    arriving = graph.flow(graph.order(graph.ancestors(nodes, controls=False)), bits, controls=False)
    for name, end in zip(gradients, nodes):
        of_roots = arriving[end] | bits.get(end, 0)
        own = [numbers[root] for root, bit in bits.items() if of_roots & bit]
        if not own or not all(own):
            raise Unwritten(f"loss: the graph does not tell of which loss the gradient of {name!r} is")
        found[name] = tuple(sorted(set().union(*own)))
    return found


def differentiated_together(
    graph: Graph, losses: Sequence[str], found: Mapping[str, Tuple[int, ...]]
) -> Dict[str, Tuple[int, ...]]:
    """Returns the losses of weights, with those that others have and a weight has no part in.

    One differentiation gives the same gradients as one for each set of losses.

    Args:
      graph: of the lift.
      losses: tensors of a tower's losses.
      found: {weight: numbers of the losses that its gradient is of}.

    Returns:
      {weight: numbers of losses}.
    """
    before = [graph.ancestors([parse_tensor_name(tensor).node], controls=False) for tensor in losses]
    result: Dict[str, Tuple[int, ...]] = {}
    for name, own in found.items():
        more = [one for one in found.values() if set(own) < set(one)]
        fitting = [one for one in more if not any(name in before[number] for number in set(one) - set(own))]
        result[name] = max(fitting, key=len, default=own)
    return result


def _numbers_of(graph: Graph, targets: Sequence[str], losses: Sequence[str]) -> List[int]:
    """Returns the numbers of the losses that are differentiated, or that what is differentiated is made from."""
    nodes = [parse_tensor_name(tensor).node for tensor in losses]
    found = [number for number, node in enumerate(nodes) if node in targets]
    if found:
        return found
    before = graph.ancestors(targets, controls=False)
    return [number for number, node in enumerate(nodes) if node in before]
