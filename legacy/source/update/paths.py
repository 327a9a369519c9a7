"""Paths of the towers' gradients to the update: reduced by a known rule, or all of them handed to every replica."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from legacy.source.basics.cut import cut_part
from legacy.source.basics.expressions import Name
from legacy.source.basics.rendering import literal_text
from legacy.source.basics.unwritten import Unwritten
from legacy.source.step.clipping import clipping_after, clipping_of_towers
from legacy.source.step.derivatives import weight_gradients
from legacy.source.step.further_gradients import further_gradients
from legacy.source.step.learning import combining
from legacy.source.step.losses_of_weights import loss_scales, losses_of_weights, require_losses
from legacy.source.update.scaled_means import before_constants
from legacy.source.update.tower_changes import changed_gradients
from workloads.lifted.averaging import RECIPROCAL, average_form, division_rounds
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.pieces.piece import Fetch
from workloads.lifted.plan import indices_label, is_indices_label, weight_of_label

if TYPE_CHECKING:
    from legacy.source.step.further_gradients import FurtherGradients
    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Combine, Phase, Plan
    from workloads.numerics.clip_rule import Clip


class GradientPath(NamedTuple):
    """The way of a train op's gradients from the towers to the update.

    Attributes:
      weights: names of those that have gradients, in order.
      rows: those of which the update gets rows, with their indices.
      combine: "mean" or "sum" of the gradients that are no rows; "" where the update gets the gradients of all towers.
      clip: what each tower does to its gradients, or None.
      clip_after: what is done to the combined gradients, or None.
      scales: factor on each of a tower's losses before it is differentiated; empty if all are one.
      tensors: {tensor of the old graph: expression} of what the update is given.
      losses: for each of `weights`, the numbers of the losses that its gradient is of; these rise.
      further: gradients that some of `weights` have besides.
      reciprocal: whether a mean of those that are no rows is a sum times one over the number of towers.
      rows_scaled: text of what is done to the rows of all towers, `slices`, where `combine` is not "".
      multipliers: {weight: factor} on the reduced gradients, of those whose factor is not one.
      joined: those of `weights` of which all towers' rows follow each other, if they are not `rows`.
      is_changed: whether each tower changes its own gradients before they are combined.
      own_lines: of the text that do so.
    """

    weights: List[str]
    rows: List[str]
    combine: str
    clip: Optional[Clip]
    clip_after: Optional[Clip]
    scales: Sequence[float]
    tensors: Dict[str, Name]
    losses: Sequence[Tuple[int, ...]] = ()
    further: Sequence[FurtherGradients] = ()
    rows_scaled: str = ""
    reciprocal: bool = False
    multipliers: Mapping[str, float] = {}
    joined: Optional[Sequence[str]] = None
    is_changed: bool = False
    own_lines: Sequence[str] = ()

    @property
    def joined_rows(self) -> Sequence[str]:
        """Weights of which all towers' rows follow each other."""
        return self.rows if self.joined is None else self.joined

    def weights_of_losses(self) -> Dict[Tuple[int, ...], List[str]]:
        """Returns {numbers of losses: weights whose gradients are of these}."""
        found: Dict[Tuple[int, ...], List[str]] = {}
        for name, numbers in zip(self.weights, self.losses or [(0,)] * len(self.weights)):
            found.setdefault(numbers, []).append(name)
        return found


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
        changed = _path_of_changed(plan, graph, phase, weights, rows, scales)
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


def path_of_joined_rows(
    plan: Plan, graph: Graph, phase: Phase, weights: List[str], rows: List[str]
) -> Optional[GradientPath]:
    """Finds the way of gradients of which some are rows: all towers' rows follow each other, the others are reduced.

    Args:
      plan: of the lift.
      graph: of the lift.
      phase: the train op.
      weights: that have gradients.
      rows: those of which the gradients are rows.

    Returns:
      The way; None if gradients are changed before they are combined, or combined otherwise.
    """
    raw = [weight_gradients(plan, graph, phase, tower) for tower in range(plan.towers)]

    def combined(label: str) -> Optional[Combine]:
        found = [one for one in phase.combine if one.parts == [[own.get(label, "")] for own in raw]]
        return found[0] if len({one.tensor for one in found if not one.affine}) == 1 else None

    made = {name: combined(name) for name in [*weights, *map(indices_label, rows)]}
    known = {name: one for name, one in made.items() if one is not None}
    dense = {(one.kind, one.scale) for name, one in known.items() if name in weights and name not in rows}
    scaled = {_rows_scaled(graph, known[name], plan.towers) for name in rows if name in known}
    indices = {(known[label].kind, known[label].scale) for label in map(indices_label, rows) if label in known}
    ways = (dense or {("mean", 1.0)}, indices)
    if len(known) < len(made) or ways not in [({(how, 1.0)}, {("concat", 1.0)}) for how in ("mean", "sum")]:
        return None
    text = scaled.pop()
    if scaled or text is None:
        return None
    tensors = {tensor: Name(f"losses[{tower}]") for tower, tensor in enumerate(phase.losses)}
    for label, one in known.items():
        part = ".indices" if is_indices_label(label) else ".values" if label in rows else ""
        tensors[one.tensor] = Name(f"gradients[{literal_text(weight_of_label(label))}]{part}")
    combine = next(iter(ways[0]))[0]
    if _uses_towers(plan, graph, phase, tensors):
        return None
    return GradientPath(weights, rows, combine, None, None, [], tensors, rows_scaled=text)


def _path_of_changed(
    plan: Plan, graph: Graph, phase: Phase, weights: List[str], rows: List[str], scales: Sequence[float]
) -> Optional[GradientPath]:
    """Finds the way of gradients that each tower changes before they are averaged; see `path_of_joined_rows`."""
    changed = changed_gradients(plan, graph, phase, weights)
    if changed is None:
        return None
    scaled = {_rows_scaled(graph, changed.combined[name], plan.towers) for name in changed.joined} or {""}
    text = scaled.pop()
    if scaled or text is None:
        return None
    tensors = {tensor: Name(f"losses[{tower}]") for tower, tensor in enumerate(phase.losses)}
    for label, one in changed.combined.items():
        part = ".indices" if is_indices_label(label) else ".values" if label in changed.joined else ""
        tensors[one.tensor] = Name(f"gradients[{literal_text(weight_of_label(label))}]{part}")
    if _uses_towers(plan, graph, phase, tensors):
        return None
    path = GradientPath(weights, rows, "mean", None, None, scales, tensors, rows_scaled=text)
    return path._replace(joined=changed.joined, is_changed=True)


def _uses_towers(plan: Plan, graph: Graph, phase: Phase, given: Mapping[str, Name]) -> bool:
    """Returns whether the update uses a tower's own gradients beside what is given."""
    raw = [weight_gradients(plan, graph, phase, tower) for tower in range(plan.towers)]
    of_towers = [tensor for own in [*raw, *phase.gradients] for tensor in own.values() if tensor not in given]
    fetches = [Fetch(value, effect.node) for effect in phase.effects for value in effect.values]
    cut = cut_part(plan, graph, fetches, [*given, *of_towers], phase.versions)
    return bool({str(feed.key) for feed in cut.piece.feeds} & set(of_towers))


def _rows_scaled(graph: Graph, combine: Combine, towers: int) -> Optional[str]:
    """Returns the text of how all towers' rows are averaged; "" if they are only joined, None if changed otherwise.

    Powers of two are multiplied, as a lift does at other numbers of replicas; the bits are those of a division.
    """
    if combine.kind == "concat" and combine.divided and towers == 1:
        return " * (1.0 / len(slices))"
    if combine.kind != "concat" or combine.scale == 1.0:
        return "" if combine.kind == "concat" else None
    op = graph.type(parse_tensor_name(combine.tensor).node)
    if op not in ("RealDiv", "Div", "Mul") or not math.isclose(combine.scale * towers, 1.0, rel_tol=1e-6):
        return None
    return " * (1.0 / len(slices))" if op == "Mul" or not division_rounds(towers) else " / len(slices)"


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
