"""Statistics that each tower changes in turn, at another number of replicas than the old graph has towers."""

from __future__ import annotations

from workloads.lifted.plan import Plan
from workloads.support.errors import require


def require_one_change_each(plan: Plan, replicas: int) -> None:
    """Raises `InputError` at another number of replicas than towers if each tower changes the same statistic.

    The old graph makes as many changes as it has towers, a port as many as it has replicas.
    """
    if replicas != plan.towers:
        why = f"each tower changes {plan.changed_in_turn[:1]} in turn: only --replicas={plan.towers}"
        require(not plan.changed_in_turn, "--replicas", replicas, why)
