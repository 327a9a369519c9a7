"""Changes of each tower's own gradients before all towers' are averaged: lines of a replica, on its dict of them.

So a program whose towers clip rows and dense gradients by one norm, or divide them by a loss scale, runs on any number
of replicas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Mapping, NamedTuple, Optional, Sequence, Set

from legacy.source.basics.expressions import Definition, Expression, Name, call
from legacy.source.basics.rendering import literal_text
from legacy.source.basics.unwritten import Unwritten
from legacy.source.step.derivatives import weight_gradients
from legacy.source.update.changes.global_norms import name_global_norms
from legacy.source.update.changes.per_weight import list_items
from legacy.source.update.changes.place import INDENT, Place
from legacy.source.update.changes.wave_lines import common_lines, own_lines, shared_definitions
from legacy.source.update.changes.weight_loops import Body, looped, slots_by_weight, with_name
from legacy.source.update.scaled_means import before_constants
from workloads.lifted.plan import indices_label, is_indices_label, weight_of_label

if TYPE_CHECKING:
    from legacy.source.definitions.recovery import Recovery
    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Combine, Phase, Plan

#: Names that the lines around these have.
_AROUND = ("rows", "pairs", "dense", "reduced", "slices", "joined")


class ChangedGradients(NamedTuple):
    """Gradients that each tower changes before they are averaged.

    Attributes:
      joined: weights of which all towers' rows follow each other; the other gradients are averaged.
      combined: {label: how it is combined}.
    """

    joined: List[str]
    combined: Dict[str, Combine]


def changed_gradients(plan: Plan, graph: Graph, phase: Phase, weights: Sequence[str]) -> Optional[ChangedGradients]:
    """Finds gradients of which each tower changes its own, alike, before they are averaged.

    Args:
      plan: of the lift.
      graph: of the lift.
      phase: the train op.
      weights: that have gradients.

    Returns:
      How they are combined; None if they are combined otherwise, or if towers change them by other towers' results or
      each in its own way.
    """
    given = phase.gradients
    labels = [label for label in given[0] if weight_of_label(label) in weights]
    if {weight_of_label(label) for label in labels} != set(weights):
        return None
    ways = [
        [one for one in phase.combine if one.parts == [[own.get(label, "")] for own in given] and not one.affine]
        for label in labels
    ]
    if any(len({one.tensor for one in found}) != 1 for found in ways):
        return None
    combined = {label: before_constants(graph, found[0], plan.towers) for label, found in zip(labels, ways)}
    joined = [name for name in weights if indices_label(name) in combined]
    means = {("mean", 1.0), ("sum", 1.0 / plan.towers)}  # the second is one that constants then multiply
    dense = {(one.kind, one.scale) for name, one in combined.items() if name in weights and name not in joined}
    indices = {(one.kind, one.scale) for label, one in combined.items() if is_indices_label(label)}
    if not dense <= means or not indices <= {("concat", 1.0)}:
        return None
    try:
        written = [
            tower_lines(plan, graph, phase, tower, weights, {"WEIGHTS": weights}) for tower in range(plan.towers)
        ]
    except Unwritten:
        return None
    return ChangedGradients(joined, combined) if all(own == written[0] for own in written) else None


def tower_lines(
    plan: Plan,
    graph: Graph,
    phase: Phase,
    tower: int,
    weights: Sequence[str],
    groups: Mapping[str, Sequence[str]],
) -> List[str]:
    """Returns the lines that change a replica's gradients, `gradients[name]`, as a tower does.

    Args:
      plan: of the lift.
      graph: of the lift.
      phase: the train op.
      tower: number of the tower.
      weights: that have gradients.
      groups: {name of a list in the text: the weights in it}.

    Returns:
      The lines, without what a function's body is indented by.

    Raises:
      Unwritten: a gradient depends on more than the tower's gradients, its loss, and variables before the step.
    """
    raw, given = weight_gradients(plan, graph, phase, tower), phase.gradients[tower]
    known: Dict[str, Expression] = {phase.losses[tower]: Name("loss")}
    known.update((tensor, Name(_text(label, raw))) for label, tensor in raw.items())
    place = Place(plan, graph, phase, known, groups, names=_AROUND)
    changed = [name for name in weights if given[name] != raw.get(name)]
    recovery, ends = place.recovered([given[name] for name in changed])
    calls = [_with_indices(name, end, given, known) for name, end in zip(changed, ends)]
    lists = [[one] for one in calls]
    name_global_norms(recovery, lists)
    list_items(recovery, lists, groups)
    needed, shared = shared_definitions(recovery, lists)
    common, names = common_lines(place, recovery, lists, needed, shared)
    slots, taken = slots_by_weight(plan), {**place.reserved, **names}
    bodies = []
    for name, one in zip(changed, calls):
        own = [*_apart(recovery, one, shared), Definition((), one)]
        general = [d._replace(expression=with_name(d.expression, name, slots.get(name, ()))) for d in own]
        key = f"gradients[{literal_text(name)}]"
        plain = own_lines(own, plan.towers, taken, len(INDENT), key)
        body = own_lines(general, plan.towers, taken, 2 * len(INDENT), "gradients[name]")
        if any("gradients[" in line.replace(key, "") for line in plain):
            raise Unwritten(f"gradients: that of {name!r} depends on another weight's in each tower")
        bodies.append(Body(name, tuple(body), plain))
    lines = common + looped(place, bodies)
    if any(".read_value()" in line for line in lines):
        raise Unwritten("gradients: each tower changes them by what the step has changed")
    return [line[len(INDENT) :] for line in lines]


def _text(label: str, raw: Mapping[str, str]) -> str:
    """Returns the text of a replica's gradient; of rows that of their values, or their indices."""
    part = ".indices" if is_indices_label(label) else ".values" if indices_label(label) in raw else ""
    return f"gradients[{literal_text(weight_of_label(label))}]{part}"


def _with_indices(
    name: str, value: Expression, given: Mapping[str, str], known: Mapping[str, Expression]
) -> Expression:
    """Returns a changed gradient, or rows with changed values."""
    label = indices_label(name)
    if label not in given:
        return value
    if given[label] not in known:
        raise Unwritten(f"gradients: each tower changes the indices of the rows of {name!r}")
    return call("tf.IndexedSlices", value, known[given[label]])


def _apart(recovery: Recovery, expression: Expression, shared: Set[str]) -> List[Definition]:
    """Returns the definitions that one weight's gradient alone needs."""
    return [definition for definition in recovery.ordered([expression]) if definition.targets[0] not in shared]
