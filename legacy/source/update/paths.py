"""Paths of the towers' gradients to the update: reduced by a known rule, or all of them handed to every replica."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Dict, List, Mapping, Optional, Sequence, Tuple

from legacy.source.basics.expressions import Name
from legacy.source.basics.rendering import literal_text
from legacy.source.basics.unwritten import Unwritten
from legacy.source.step.clipping import clipping_after, clipping_of_towers
from legacy.source.step.derivatives import weight_gradients
from legacy.source.step.further_gradients import further_gradients
from legacy.source.step.learning import combining
from legacy.source.step.losses_of_weights import loss_scales, losses_of_weights, require_losses
from legacy.source.update.gradient_path import GradientPath
from legacy.source.update.row_paths import path_of_changed, path_of_joined_rows
from legacy.source.update.scaled_means import before_constants
from workloads.lifted.averaging import RECIPROCAL, average_form
from workloads.lifted.plan import indices_label, is_indices_label, weight_of_label

if TYPE_CHECKING:
    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Combine, Phase, Plan


def find_path(plan: Plan, graph: Graph, phase: Phase) -> GradientPath:
    """Finds the way of a train op's gradients.

    Args:
      plan: of the lift.
      graph: of the lift.
      phase: the train op.

    Returns:
      The way; where combining and clipping are not known, all towers' gradients before any clipping reach the update.
    """
    if not any(phase.gradients):
        return GradientPath([], [], "sum", None, None, [], {})  # it only changes variables
    of_towers = [losses_of_weights(plan, graph, phase, tower) for tower in range(plan.towers)]
    numbers = {name: number for own in reversed(of_towers) for name, number in own.items()}
    path = _path(plan, graph, phase, numbers)
    reciprocal = average_form(dataclasses.replace(plan, phases=[phase]), graph) == RECIPROCAL
    path = path._replace(losses=[numbers[name] for name in path.weights], reciprocal=reciprocal)
    if (
        not path.combine
        or path.is_changed
        or path.rows
        or path.clip
        or path.clip_after
        or path.scales
        or any(phase.returns)
    ):
        return path
    further = further_gradients(plan, graph, phase, path.weights, path.combine)
    tensors = {
        tensor: Name(f"{further_name(number)}[{literal_text(weight)}]")
        for number, one in enumerate(further)
        for weight, tensor in one.combined.items()
    }
    return path._replace(further=further, tensors={**path.tensors, **tensors})


def further_name(number: int) -> str:
    """Returns the name of further gradients in the text.

    >>> further_name(0)
    'gradients2'
    """
    return f"gradients{number + 2}"


def _path(plan: Plan, graph: Graph, phase: Phase, numbers: Mapping[str, Tuple[int, ...]]) -> GradientPath:
    names = {name for tower in range(plan.towers) for name in weight_gradients(plan, graph, phase, tower)}
    weights = [variable.name for variable in plan.variables if variable.name in names]
    weights.sort(key=numbers.__getitem__)
    rows = [name for name in weights if indices_label(name) in names]
    scales = loss_scales(phase)
    combined = {name: combine.tensor for name, combine in _combined(plan, phase).items()}
    try:
        combine, clip = combining(plan, graph, phase), clipping_of_towers(plan, graph, phase)
        if rows or not set(weights) <= set(combined):
            raise Unwritten("gradients: not all are combined in a known way")
    except Unwritten:
        joined = path_of_joined_rows(plan, graph, phase, weights, rows) if rows and not scales else None
        if joined is not None:
            return joined
        multiples = None if rows else _path_of_multiples(plan, graph, phase, weights, scales)
        if multiples is not None:
            return multiples
        changed = path_of_changed(plan, graph, phase, weights, rows, scales)
        if changed is not None:
            return changed
        return GradientPath(weights, rows, "", None, None, scales, _of_all_towers(plan, graph, phase))
    try:
        clip_after = clipping_after(plan, graph, phase)
    except Unwritten:
        clip_after = None
    used = {effect.writes[0]: effect.gradient for effect in phase.effects if effect.gradient}
    clip_after = clip_after if set(weights) <= set(used) else None
    ends = {name: str(used.get(name) if clip_after else combined[name]) for name in weights}
    tensors = {tensor: Name(f"losses[{tower}]") for tower, tensor in enumerate(phase.losses)}
    tensors.update((ends[name], Name(f"gradients[{literal_text(name)}]")) for name in weights)
    return GradientPath(weights, [], combine, clip, clip_after, scales, tensors)


def _combined(plan: Plan, phase: Phase) -> Dict[str, Combine]:
    """Returns {weight: how its gradients are combined}, also of those that are added to a variable between runs."""
    owners = {variable.name: variable.of for variable in plan.variables}
    found = {owners.get(one.weight) or one.weight: one for one in phase.combine}
    return {**found, **{one.weight: one for one in phase.combine}}


def _path_of_multiples(
    plan: Plan, graph: Graph, phase: Phase, weights: List[str], scales: Sequence[float]
) -> Optional[GradientPath]:
    """Finds the way of gradients of which each is a multiple of the towers' mean, or each a multiple of their sum.

    Args:
      plan: of the lift.
      graph: of the lift.
      phase: the train op.
      weights: that have gradients.
      scales: see `GradientPath`.

    Returns:
      The way; None if gradients are changed otherwise, or if a factor that is no power of two would round.
    """
    raw = [weight_gradients(plan, graph, phase, tower) for tower in range(plan.towers)]
    made = _combined(plan, phase)
    made.update((n, before_constants(graph, one, plan.towers)) for n, one in made.items() if _rounds(one, plan.towers))
    combined = {
        name: made[name]
        for name in weights
        if name in made and made[name].kind in ("mean", "sum") and not made[name].affine
    }
    if len(combined) < len(weights):
        return None
    if any(one.parts != [[own.get(name, "")] for own in raw] for name, one in combined.items()):
        return None
    are_means = {one.kind == "mean" or one.divided for one in combined.values()}
    if len(are_means) > 1:
        return None
    is_mean = are_means.pop()
    times = plan.towers if is_mean else 1
    factors = {name: one.scale * (times if one.kind == "sum" else 1) for name, one in combined.items()}
    if any(math.frexp(factor)[0] != 0.5 for factor in factors.values()):
        return None
    tensors = {tensor: Name(f"losses[{tower}]") for tower, tensor in enumerate(phase.losses)}
    tensors.update((one.tensor, Name(f"gradients[{literal_text(name)}]")) for name, one in combined.items())
    multipliers = {name: factor for name, factor in factors.items() if factor != 1.0}
    combine = "mean" if is_mean else "sum"
    return GradientPath(weights, [], combine, None, None, scales, tensors, multipliers=multipliers)


def _rounds(combine: Combine, towers: int) -> bool:
    """Returns whether the factor on the towers' mean is no power of two."""
    return math.frexp(combine.scale * towers)[0] != 0.5


def _of_all_towers(plan: Plan, graph: Graph, phase: Phase) -> Dict[str, Name]:
    """Returns the tensors of all towers: their losses, and their gradients as differentiation gives them."""
    require_losses(phase)
    found: Dict[str, Name] = {}
    for tower in range(plan.towers):
        raw = weight_gradients(plan, graph, phase, tower)
        for name, tensor in raw.items():
            weight = weight_of_label(name) if is_indices_label(name) else name
            part = ".indices" if weight != name else ".values" if indices_label(name) in raw else ""
            found[tensor] = Name(f"gradients[{literal_text(weight)}][{tower}]{part}")
        found[phase.losses[tower]] = Name(f"losses[{tower}]")
    return found
