"""Paths of gradients of which some are rows, or which each tower changes: all towers' rows follow each other."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, List, Mapping, Optional, Sequence

from legacy.source.basics.cut import cut_part
from legacy.source.basics.expressions import Name
from legacy.source.basics.rendering import literal_text
from legacy.source.step.derivatives import types_of, weight_gradients
from legacy.source.update.gradient_path import GradientPath
from legacy.source.update.tower_changes import changed_gradients
from workloads.lifted.averaging import division_rounds
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.pieces.piece import Fetch
from workloads.lifted.plan import indices_label, is_indices_label, weight_of_label

if TYPE_CHECKING:
    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Combine, Phase, Plan


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
    scaled = {rows_scaled(graph, known[name], plan.towers) for name in rows if name in known}
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


def path_of_changed(
    plan: Plan, graph: Graph, phase: Phase, weights: List[str], rows: List[str], scales: Sequence[float]
) -> Optional[GradientPath]:
    """Finds the way of gradients that each tower changes before they are averaged.

    Args:
      plan, graph, phase, weights, rows: see `path_of_joined_rows`.
      scales: factor on each of a tower's losses before it is differentiated; empty if all are one.

    Returns:
      The way; None if gradients are combined otherwise.
    """
    changed = changed_gradients(plan, graph, phase, weights)
    if changed is None:
        return None
    scaled = {rows_scaled(graph, changed.combined[name], plan.towers) for name in changed.joined} or {""}
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
    missing = [tensor for tensor in given if tensor not in plan.tensors]
    plan = dataclasses.replace(plan, tensors={**plan.tensors, **types_of(graph, missing)})
    fetches = [Fetch(value, effect.node) for effect in phase.effects for value in effect.values]
    cut = cut_part(plan, graph, fetches, [*given, *of_towers], phase.versions)
    return bool({str(feed.key) for feed in cut.piece.feeds} & set(of_towers))


def rows_scaled(graph: Graph, combine: Combine, towers: int) -> Optional[str]:
    """Returns the text of how all towers' rows are averaged.

    Powers of two are multiplied, as a lift does at other numbers of replicas; the bits are those of a division.

    Args:
      graph: of the lift.
      combine: the combining of the rows.
      towers: number of towers.

    Returns:
      The text; "" if the rows are only joined, None if they are changed otherwise.
    """
    if combine.kind == "concat" and combine.divided and towers == 1:
        return " * (1.0 / len(slices))"
    if combine.kind != "concat" or combine.scale == 1.0:
        return "" if combine.kind == "concat" else None
    op = graph.type(parse_tensor_name(combine.tensor).node)
    if op not in ("RealDiv", "Div", "Mul") or not math.isclose(combine.scale * towers, 1.0, rel_tol=1e-6):
        return None
    return " * (1.0 / len(slices))" if op == "Mul" or not division_rounds(towers) else " / len(slices)"
