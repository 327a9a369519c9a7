"""Resolves the races of an old graph in the order that a workload has: moving averages are updated after all else."""

from __future__ import annotations

from collections.abc import Sequence

from workloads.lifted.graph import Graph
from workloads.lifted.plan import ControlDependency, Phase, Plan


def port_order(plan: Plan, graph: Graph) -> list[list[ControlDependency]]:
    """Returns, for each phase, control dependencies that fix the order that a workload has, where the graph allows it.

    A workload counts the step and then updates the averages from the new weights. An old program that runs both in one
    `tf.group` leaves open whether its averages read weights and counter before or after the update. The plan of a lift
    has chosen one order; here the workload's is chosen.

    Args:
      plan: of the lift.
      graph: of the lift.
    """
    return [_phase_order(plan, graph, phase) for phase in plan.phases]


def _phase_order(plan: Plan, graph: Graph, phase: Phase) -> list[ControlDependency]:
    averages = {variable.name for variable in plan.variables if variable.role == "average"}
    writes = {effect.node: set(effect.writes) for effect in phase.effects}

    def turned(edge: ControlDependency) -> ControlDependency:
        """Returns the edge; reversed, so that the read waits for the update, if the read feeds averages only."""
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
