"""Losses of which a program minimizes the mean over its towers: each is divided by their number before it is summed."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, List, Optional, Tuple

import numpy as np
import tensorflow as tf

from legacy.saved.graph import op_types
from legacy.saved.graph.differentiation import differentiated
from legacy.source.basics.expressions import BATCH_SIZE, Expression, Infix, Literal, Name
from workloads.lifted.averaging import division_rounds
from workloads.lifted.graph import Graph, parse_tensor_name, tensor_name
from workloads.lifted.graph.edits import GraphCopy
from workloads.lifted.reduction_factors import sums_over_all_examples, sums_parts_of_mean, sums_to_mean

if TYPE_CHECKING:
    from workloads.lifted.graph import TensorId
    from workloads.lifted.plan import Phase, Plan

#: The number of replicas, in a loss.
REPLICAS = Name("scope.replicas")
#: The number of all replicas' examples, in a loss.
ALL_EXAMPLES = Infix("*", REPLICAS, BATCH_SIZE)


def with_divided_losses(plan: Plan, graph: Graph) -> Tuple[Plan, Graph]:
    """Returns a lift in which each tower's loss is its part of the mean, where 1 / towers is no power of two.

    The gradient of the mean of all losses is the sum of the gradients of loss / towers, bit for bit. It is also the
    mean of the losses' own gradients, which reads better, but has these bits only where division by the number of
    towers rounds nothing.

    Args:
      plan: of the lift.
      graph: of the lift.

    Returns:
      Both; the same ones if no train op minimizes such a mean.
    """
    if not any(_is_rounded_mean(plan, phase) for phase in plan.phases):
        return plan, graph
    result = GraphCopy(graph)
    phases, types = [], dict(plan.tensors)
    for phase in plan.phases:
        if _is_rounded_mean(plan, phase):
            parts = [_divided(result, loss, types[loss].dtype, plan.towers) for loss in phase.losses]
            types.update((part, types[loss]) for part, loss in zip(parts, phase.losses))
            phase = dataclasses.replace(phase, losses=parts, shared_loss=False)
        phases.append(phase)
    return dataclasses.replace(plan, phases=phases, tensors=types), result.graph()


def with_sizes_in_losses(plan: Plan, graph: Graph) -> Tuple[Plan, Graph]:
    """Returns a lift in which each tower divides its loss, where the sum of all is divided by the batch's size.

    The derivative of the quotient by each loss is the reciprocal of the size, either way.

    Args:
      plan: of the lift.
      graph: of the lift.

    Returns:
      Both; the same ones if no train op minimizes such a quotient.
    """
    sizes = [size_below_sum(plan, graph, phase) for phase in plan.phases]
    if not any(sizes):
        return plan, graph
    result = GraphCopy(graph)
    phases, types = [], dict(plan.tensors)
    for phase, size in zip(plan.phases, sizes):
        if size is not None:
            parts = [_quotient(result, loss, types[loss].dtype, size.name) for loss in phase.losses]
            types.update((part, types[loss]) for part, loss in zip(parts, phase.losses))
            phase = dataclasses.replace(phase, losses=parts, shared_loss=False)
        phases.append(phase)
    return dataclasses.replace(plan, phases=phases, tensors=types), result.graph()


def size_below_sum(plan: Plan, graph: Graph, phase: Phase) -> Optional[TensorId]:
    """Returns what all losses' sum is divided by, if it is no constant and depends on sizes of all towers' data alone.

    Args:
      plan: of the lift.
      graph: of the lift.
      phase: the train op.

    Returns:
      The tensor; None if there is no such one.
    """
    if not phase.shared_loss or phase.loss_scale != 1.0 or phase.other_losses or any(phase.returns):
        return None
    losses = {parse_tensor_name(loss).node for loss in phase.losses}
    targets = differentiated(graph, graph.ancestors([phase.train_op]))
    found: List[TensorId] = []
    node = targets[0] if len(targets) == 1 else ""
    while node and node not in losses:
        inputs = graph.inputs(node)
        before = [graph.ancestors([one.node], controls=False) & losses for one in inputs]
        if graph.type(node) in op_types.QUOTIENTS and before[0] == losses and not before[1]:
            found.append(inputs[1])
        elif graph.type(node) not in ("Identity", *op_types.ADDITIONS):
            return None
        whole = [one.node for one, own in zip(inputs, before) if own == losses]
        node = whole[0] if len(whole) == 1 else ""
    if len(found) != 1 or graph.type(graph.origin(found[0]).node) == "Const":
        return None
    data = {parse_tensor_name(tensor).node for entry in plan.inputs + plan.common for tensor in entry.tensors}
    sizes = graph.of_types("Shape", "Size")
    return None if data & graph.ancestors([found[0].node], stop=sizes, controls=False) else found[0]


def divided_by_replicas(loss: Expression, plan: Plan, phase: Phase) -> Expression:
    """Returns a loss that is divided by the replicas, or their examples, where the old program divides by its towers'.

    Args:
      loss: of a tower.
      plan: of the lift.
      phase: the train op.

    Returns:
      The loss, for any number of replicas; unchanged unless the losses' sum over towers is a mean, and each is divided
      by their number, or by that of all their examples, at last.
    """
    if not isinstance(loss, Infix) or loss.symbol != "/":
        return loss
    towers = plan.towers
    if sums_over_all_examples(phase, towers) and loss.right == Literal(float(plan.global_batch)):
        return dataclasses.replace(loss, right=ALL_EXAMPLES)
    if sums_to_mean(phase, towers) and loss.right == Literal(float(towers)):
        return dataclasses.replace(loss, right=REPLICAS)
    return loss


def is_divided_by_replicas(loss: Expression) -> bool:
    """Returns whether `divided_by_replicas` has changed a loss."""
    return isinstance(loss, Infix) and loss.symbol == "/" and loss.right in (REPLICAS, ALL_EXAMPLES)


def has_divisor(phase: Phase, towers: int) -> bool:
    """Returns whether each tower's own loss has a divisor that follows the number of towers, so that a sum is a mean.

    Args:
      phase: the train op.
      towers: number of towers.

    Returns:
      The answer.
    """
    return not phase.shared_loss and sums_parts_of_mean(phase, towers)


def _is_rounded_mean(plan: Plan, phase: Phase) -> bool:
    is_mean = phase.shared_loss and phase.loss_scale > 0 and sums_to_mean(phase, plan.towers)
    return is_mean and not phase.other_losses and division_rounds(plan.towers)


def _divided(result: GraphCopy, loss: str, dtype: str, towers: int) -> str:
    """Adds loss / towers to a graph; returns its tensor."""
    numpy_dtype = tf.as_dtype(dtype).as_numpy_dtype
    count = result.add_constant(f"{parse_tensor_name(loss).node}/towers", np.array(towers, numpy_dtype))
    return _quotient(result, loss, dtype, count)


def _quotient(result: GraphCopy, loss: str, dtype: str, divisor: str) -> str:
    """Adds loss / divisor to a graph; returns its tensor."""
    part = result.add(f"{parse_tensor_name(loss).node}/of_mean", "RealDiv", [loss, divisor])
    part.attr["T"].type = tf.as_dtype(dtype).as_datatype_enum
    return tensor_name(part.name, 0)
