"""Further gradients of weights: of several losses in one train op, or of one loss that two optimizers minimize."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Dict, List, NamedTuple, Sequence, Tuple

from legacy.saved.analysis.gradients import nearest_derivatives
from legacy.source.basics.unwritten import Unwritten
from legacy.source.step.losses_of_weights import losses_of_gradients
from workloads.lifted.graph import parse_tensor_name

if TYPE_CHECKING:
    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Combine, Phase, Plan


class FurtherGradients(NamedTuple):
    """Gradients of weights that have others besides.

    Attributes:
      losses: numbers of the losses that they are of.
      combined: {weight: what the update gets}.
      towers: for each tower, {weight: its gradient}.
    """

    losses: Tuple[int, ...]
    combined: Dict[str, str]
    towers: List[Dict[str, str]]


def further_gradients(
    plan: Plan, graph: Graph, phase: Phase, weights: Sequence[str], how: str
) -> List[FurtherGradients]:
    """Finds the gradients that a train op combines besides the one of each weight.

    Args:
      plan: of the lift, with derivatives.
      graph: of the lift.
      phase: the train op.
      weights: that have gradients.
      how: all are combined so: "mean" or "sum".

    Returns:
      The gradients, in sets of one loss, or of several whose sum is minimized; none if a part is combined otherwise, or
      changed by its tower.
    """
    main = {combine.weight: combine.tensor for combine in phase.combine}
    others = [one for one in phase.combine if one.weight in main and one.tensor != main[one.weight]]
    if not all(one.weight in weights and _is_plain(graph, one, how) for one in others):
        return []
    sets: Dict[Tuple[Tuple[int, ...], int], List[Combine]] = collections.defaultdict(list)
    seen: Dict[Tuple[str, Tuple[int, ...]], int] = collections.Counter()
    try:
        for one in sorted(others, key=lambda combine: weights.index(combine.weight)):
            losses = losses_of_gradients(graph, phase, 0, {one.weight: one.parts[0][0]})[one.weight]
            sets[losses, seen[one.weight, losses]].append(one)
            seen[one.weight, losses] += 1
    except Unwritten:
        return []
    return [
        FurtherGradients(
            losses,
            {one.weight: one.tensor for one in own},
            [{one.weight: one.parts[tower][0] for one in own} for tower in range(plan.towers)],
        )
        for (losses, _), own in sets.items()
    ]


def _is_plain(graph: Graph, combine: Combine, how: str) -> bool:
    """Returns whether all towers' derivatives, as differentiation gives them, are combined in a way."""
    if combine.kind != how or combine.scale != 1.0 or combine.affine or any(len(own) != 1 for own in combine.parts):
        return False
    parts = [parse_tensor_name(own[0]) for own in combine.parts]
    return all(nearest_derivatives(graph, part, lambda node, output: True) == [part] for part in parts)
