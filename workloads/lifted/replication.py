"""An old program at another number of replicas than it has towers: which numbers run, and which tower a replica runs.

Both sides follow these conventions; what they compute by them is their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workloads.lifted.made_up_data import part_of_whole
from workloads.support.errors import InputError
from workloads.support.wording import listed

if TYPE_CHECKING:
    from workloads.lifted.plan import Combine, Phase, Plan

#: Names that a reason lists.
_MOST_LISTED = 4


def own_number_only(plan: Plan) -> str:
    """Returns why a program runs at its own number of towers only, or "" if it runs at any."""
    for phase in plan.phases:
        written = [combine for combine in phase.combine if combine.kind == "kept as written"]
        if written:
            which = listed(list(dict.fromkeys(combine.weight for combine in written)), _MOST_LISTED)
            if plan.towers > 1 and all(sum(map(bool, combine.parts)) == 1 for combine in written):
                weights = {variable.name for variable in plan.variables if variable.role == "weight"}
                if weights.isdisjoint(combine.weight for combine in written):
                    return f"each tower adds its gradients to variables of its own ({which})"
                if _updated_by_several(written):
                    return f"several towers update the same weights, each by its own gradients ({which})"
                return f"weights are trained by one tower's gradients alone ({which})"
            return f"this graph combines gradients in a way that is not recognised ({which})"
        if phase.returns:
            of_all = "on the sizes of all towers' batches" if phase.sizes_alone else "on all towers' results"
            alone = [tower for tower, tensors in enumerate(phase.returns) if tensors]
            if not phase.sizes_alone and len(alone) == 1 < plan.towers:
                return f"the gradients of tower {alone[0]} depend on another tower's results"
            return f"each tower's gradients depend {of_all}"
    if plan.updated:
        return f"gradients take weights that the same run has updated before ({listed(plan.updated, _MOST_LISTED)})"
    if plan.own_parts:
        return f"each tower takes its own part of {listed([own.whole for own in plan.own_parts], _MOST_LISTED)}"
    if plan.own_variables:
        names = listed(plan.own_variables, _MOST_LISTED)
        return f"each tower reads variables of its own, which need not stay equal ({names})"
    if plan.own_number:
        return plan.own_number
    entries = plan.inputs + plan.common
    wholes = [entry for entry in entries if part_of_whole(entry, entries) and (entry.shape or [None])[0] is not None]
    if wholes and plan.towers > 1:
        return f"towers take all {(wholes[0].shape or [0])[0]} rows of {wholes[0].origin}, of which each has its part"
    joined = [name for phase in plan.phases for name in phase.joined]
    return f"the update takes what all towers' results are joined in ({listed(joined, _MOST_LISTED)})" if joined else ""


def _updated_by_several(written: list[Combine]) -> bool:
    """Returns whether each weight has several updates, by one tower's gradient each and by different towers'."""
    towers: dict[str, set[int]] = {}
    for combine in written:
        alone = [tower for tower, parts in enumerate(combine.parts) if parts]
        towers.setdefault(combine.weight, set()).update(alone)
    return all(len(numbers) > 1 for numbers in towers.values())


def replica_counts(plan: Plan) -> str:
    """Returns the numbers of replicas that a port of a program runs at, as a text."""
    none, reason = unequal_parts(plan) or divided_loops(plan), own_number_only(plan)
    if none:
        return f"none: {none}"
    return f"{plan.towers} only: {reason}" if reason else "any number"


def unequal_parts(plan: Plan) -> str:
    """Returns why replicas cannot run the towers' graphs, whose shapes are of unequal parts of a batch; else ""."""
    for entry in plan.inputs:
        shapes = [plan.tensors[name].shape for name in entry.tensors if name in plan.tensors]
        sizes = [shape[0] for shape in shapes if shape and shape[0] is not None]
        if entry.kind == "batch" and len(sizes) == plan.towers and len(set(sizes)) > 1:
            return f"towers take {', '.join(map(str, sizes))} rows of {entry.name}, and replicas take equal numbers"
    return ""


def divided_loops(plan: Plan) -> str:
    """Returns why replicas cannot run the towers' graphs, of which one differentiates another's loop; else "".

    The gradient of a `while` loop of 1.x is made of ops in that loop, and of a loop that reads what these kept.
    """
    if not plan.divided_loops:
        return ""
    return (
        f"a tower takes {listed(plan.divided_loops, 1)} out of another's while loop, and replicas run loops as a whole"
    )


def require_whole_loops(plan: Plan) -> None:
    """Raises `InputError` if replicas cannot run the towers' graphs since one takes part of another's loop."""
    reason = divided_loops(plan)
    if reason:
        raise InputError(f"--workload: no replica runs this lift: {reason}; its source may be compared by --against")


def towers_differ(plan: Plan) -> bool:
    """Returns whether another number of replicas must run more than the first tower's graph.

    So it is where towers are not equal, and where the update reads a later tower's tensor that the first tower has not,
    such as the accuracy that the last tower alone adds to a variable.
    """
    lone = [
        name for phase in plan.phases for row in phase.crossings for name in row[1:] if row.count(None) == len(row) - 1
    ]
    known = {name for phase in plan.phases for name in [*phase.twins, *phase.state_crossings]}
    return bool(plan.differences) or any(name is not None and name not in known for name in lone)


def tower_run_by(plan: Plan, replica: int, replicas: int) -> int:
    """Returns the tower of a plan whose graph a replica runs; see `tower_of_replica`.

    Args:
      plan: the plan.
      replica: number of the replica.
      replicas: number of replicas.

    Returns:
      The number of the tower.
    """
    return tower_of_replica(replica, replicas, plan.towers, towers_differ(plan), plan.like_first)


def tower_of_replica(replica: int, replicas: int, towers: int, differ: bool, like_first: bool = False) -> int:
    """Returns the tower whose graph a replica runs.

    Args:
      replica: number of the replica.
      replicas: number of replicas.
      towers: number of towers.
      differ: whether the towers differ from each other.
      like_first: whether further towers are as the first of two; see `Plan`.

    Returns:
      The number of the tower.

    >>> [tower_of_replica(replica, 4, 2, True) for replica in range(4)]
    [0, 1, 1, 1]
    >>> [tower_of_replica(replica, 4, 2, True, like_first=True) for replica in range(4)]
    [0, 0, 0, 1]
    >>> [tower_of_replica(replica, 5, 3, True) for replica in range(5)]
    [0, 1, 1, 1, 2]
    >>> [tower_of_replica(replica, 5, 3, False) for replica in range(5)]
    [0, 0, 0, 0, 0]
    """
    if replicas == towers:
        return replica
    if not differ or replica == 0:
        return 0
    if replica == replicas - 1:
        return towers - 1
    if like_first and towers == 2:
        return 0
    return min(replica, max(1, towers - 2), towers - 1)


def replica_of_tower(tower: int, towers: int, replicas: int) -> int:
    """Returns the replica that stands for a tower where the update reads a tensor of that tower.

    Args:
      tower: number of the tower.
      towers: number of towers.
      replicas: number of replicas.

    Returns:
      The number of the replica.

    >>> [replica_of_tower(tower, 3, 5) for tower in range(3)], replica_of_tower(1, 3, 1), replica_of_tower(0, 1, 4)
    ([0, 1, 4], 0, 0)
    """
    is_last = tower == towers - 1 and tower > 0  # an only tower is the first one
    return replicas - 1 if is_last else min(tower, replicas - 1)


def tower_of_crossing(phase: Phase, name: str) -> int:
    """Returns the tower that a tensor leaves."""
    return next(tower for row in phase.crossings for tower, other in enumerate(row) if other == name)


def corresponding_crossings(phase: Phase, name: str, tower: int) -> list[str]:
    """Returns the tensors of a tower that correspond to a crossing of any tower, the nearest first.

    Args:
      phase: the phase.
      name: of the crossing.
      tower: number of the tower.

    Returns:
      The names; empty if only another tower has such a tensor.
    """
    rows = [row[tower] for row in phase.crossings if name in row]
    return [found for found in [*rows, phase.twins.get(name)] if found is not None]
