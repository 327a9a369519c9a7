"""Order of an old graph's races that a workload stands for: moving averages are updated after all else."""

from __future__ import annotations

from collections.abc import Sequence

from workloads.lifted.graph import Graph
from workloads.lifted.plan import Phase, Plan
from workloads.lifted.plan_records import ControlDependency


def port_order(plan: Plan, graph: Graph) -> list[list[ControlDependency]]:
    """Returns, for each phase, control dependencies that fix the order that a workload has, where the graph allows it.

    A workload updates averages from the new weights, and counts the step before. An old program that groups the two
    leaves open when its averages read weights and counter; the plan has chosen one order, here it is the workload's.

    Args:
      plan: of the lift.
      graph: of the lift.
    """
    return [_phase_order(plan, graph, phase) for phase in plan.phases]


def _phase_order(plan: Plan, graph: Graph, phase: Phase) -> list[ControlDependency]:
    averages = {variable.name for variable in plan.variables if variable.role == "average"}
    writes = {effect.node: set(effect.writes) for effect in phase.effects}

    def turned(edge: ControlDependency) -> ControlDependency:
        """Returns the edge from an update to a read, instead of from the read to the update, if it feeds averages."""
        if edge.before in writes or edge.after not in writes or writes[edge.after] & averages:
            return edge
        fed = [writes[name] for name in graph.descendants([edge.before]) if name in writes]
        return ControlDependency(edge.after, edge.before) if fed and all(names <= averages for names in fed) else edge

    chosen = [turned(edge) for edge in phase.control_dependencies]
    return chosen if _is_possible(graph, phase, chosen) else phase.control_dependencies


def _is_possible(graph: Graph, phase: Phase, edges: Sequence[ControlDependency]) -> bool:
    members = graph.ancestors([phase.train_op])
    try:
        graph.order(members, [edge for edge in edges if set(edge) <= members])
    except ValueError:
        return False
    return True
