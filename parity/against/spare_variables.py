"""Variables of an old graph that a workload need not have: no step changes them, or they only report."""

from __future__ import annotations

from workloads.lifted.graph import Graph
from workloads.lifted.plan import Plan


def spare_variables(plan: Plan, graph: Graph) -> list[str]:
    """Returns the variables that a port can do without.

    Those that no step changes are constants of the graph, such as a learning rate in a variable; what follows from them
    is compared. Scalars from which no path leads to another variable, a loss or a gradient only report, such as the
    moving average of a loss. Statistics of batch normalization are not scalars, and are needed after training.

    Args:
      plan: of the lift.
      graph: of the lift.
    """
    effects = [effect for phase in plan.phases for effect in phase.effects]
    written = {name for effect in effects for name in effect.writes}
    writes = {effect.node: set(effect.writes) for effect in effects}
    kept = [variable for variable in plan.variables if variable.role in ("statistic", "average", "state")]
    read = [variable for variable in plan.variables if variable.role == "slot" and not variable.of]  # by an optimizer
    constants = [variable.name for variable in [*kept, *read] if variable.name not in written]
    scalars = {
        variable.name for variable in kept if not variable.shape and variable.name in written and not variable.of
    }
    seen = {name.rpartition(":")[0] for phase in plan.phases for name in phase.losses}
    seen |= {name.rpartition(":")[0] for phase in plan.phases for tower in phase.gradients for name in tower.values()}

    def reports(name: str) -> bool:
        behind = graph.descendants([name], controls=False)
        return not behind & seen and all(writes[node] <= scalars for node in behind if node in writes)

    while True:
        remaining = {name for name in scalars if reports(name)}
        if remaining == scalars:
            return [variable.name for variable in [*kept, *read] if variable.name in {*scalars, *constants}]
        scalars.intersection_update(remaining)
