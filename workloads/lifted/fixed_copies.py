"""Variables that no step changes, of which towers have copies with equal values, such as a table of word vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Tuple

from workloads.lifted.graph import parse_tensor_name

if TYPE_CHECKING:
    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Plan
    from workloads.program import Arrays


def fixed_copies(plan: Plan, graph: Graph, values: Arrays) -> Dict[str, str]:
    """Finds later towers' copies of variables that the first tower alone reads.

    Args:
      plan: of the lift.
      graph: of the lift.
      values: {variable: value to start from}.

    Returns:
      {variable of a later tower: the first tower's}; without those that need not be equal in another checkpoint.
    """
    if len(plan.phases) != 1 or plan.towers < 2 or not plan.phases[0].losses:
        return {}
    changed = {name for effect in plan.phases[0].effects for name in effect.writes}
    alike: Dict[Tuple[object, ...], List[str]] = {}
    for variable in plan.variables:
        if variable.name not in changed and variable.name in values:
            value = values[variable.name]
            alike.setdefault((variable.dtype, value.shape, value.tobytes()), []).append(variable.name)
    groups = [names for names in alike.values() if len(names) == plan.towers]
    if not groups:
        return {}
    losses = [parse_tensor_name(loss).node for loss in plan.phases[0].losses]
    read = [graph.ancestors([loss], controls=False) for loss in losses]
    found: Dict[str, str] = {}
    for names in groups:
        towers = {name: [tower for tower, before in enumerate(read) if name in before] for name in names}
        first, *others = sorted(names, key=lambda name: towers[name])
        is_one_each = [towers[name] for name in (first, *others)] == [[tower] for tower in range(plan.towers)]
        if is_one_each and first not in plan.own_variables:
            found.update((other, first) for other in others)
    return found
