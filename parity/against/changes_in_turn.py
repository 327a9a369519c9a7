"""Statistics that each tower changes in turn, at another number of replicas than the old graph has towers."""

from __future__ import annotations

from legacy.saved.facts.update_sources import UpdateSources
from workloads.lifted.graph import Graph
from workloads.lifted.plan import Plan
from workloads.support.errors import InputError
from workloads.support.wording import listed

#: Of the statistics, so many are named.
MOST_LISTED = 3


def require_one_change_each(plan: Plan, graph: Graph, replicas: int) -> None:
    """Raises `InputError` at another number of replicas than towers if each tower changes the same statistic.

    The old graph makes as many changes as it has towers, a port as many as it has replicas. A tower that changes a
    statistic several times, and alone, does so at any number.

    Args:
      plan: of the lift.
      graph: of the lift.
      replicas: number of replicas.
    """
    if replicas == plan.towers or not plan.changed_in_turn:
        return
    changed = _changed_by_several(plan, graph)
    if changed:
        why = f"each tower changes {listed([*map(repr, changed)], MOST_LISTED)} in turn: only --replicas={plan.towers}"
        raise InputError(f"--replicas: got {replicas}, {why}")


def _changed_by_several(plan: Plan, graph: Graph) -> list[str]:
    """Returns those of the statistics with several changes that no single tower makes."""
    if plan.towers == 1:
        return []
    names = plan.changed_in_turn
    towers: dict[str, set[int]] = {name: set() for name in names}
    for phase in plan.phases:
        sources = UpdateSources(graph, phase)
        for effect in phase.effects:
            for name in towers.keys() & set(effect.writes):
                towers[name].update(sources.towers(effect))
    return [name for name in names if len(towers[name]) != 1]
