"""Statistics that each tower changes in turn, at another number of replicas than the old graph has towers."""

from __future__ import annotations

from legacy.saved.analysis.other_numbers.changes_in_turn import changed_by_each
from workloads.lifted.graph import Graph
from workloads.lifted.plan import Plan
from workloads.support.errors import InputError
from workloads.support.wording import FEW, listed


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
    changed = changed_by_each(plan, graph)
    if changed:
        why = f"each tower changes {listed([*map(repr, changed)], FEW)} in turn: only --replicas={plan.towers}"
        raise InputError(f"--replicas: got {replicas}, {why}")
