"""Order of updates that an old graph has by its gradients, for runs in which these are given."""

from __future__ import annotations

from typing import TYPE_CHECKING, List, Optional, Sequence

from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.plan import ControlDependency

if TYPE_CHECKING:
    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Phase, Plan
    from workloads.lifted.workload import LiftedWorkload


def given_gradients(plan: Plan) -> List[str]:
    """Returns the tensors that an update is given in place of those of the graph's own towers."""
    names: List[str] = []
    for phase in plan.phases:
        names += [name for row in phase.crossings for name in row if name is not None]
        for combine in phase.reductions:
            names += [name for tower in combine.parts for name in tower] if combine.affine else [combine.tensor]
    return list(dict.fromkeys(names))


def with_order_of_gradients(
    workload: LiftedWorkload, dependencies: Optional[Sequence[Sequence[ControlDependency]]]
) -> List[List[ControlDependency]]:
    """Returns control dependencies of each train op that keep the order of its updates where gradients are given.

    What a train op changes on the way to its gradients, as by power iterations, comes before the weights' updates, and
    so reads the weights as they were. Without the gradients' ops nothing else says so.

    Args:
      workload: the lifted workload.
      dependencies: for each phase, those that fix an open order; None for the plan's.

    Returns:
      The dependencies.
    """
    plan = workload.plan
    chosen = dependencies or [phase.control_dependencies for phase in plan.phases]
    given = [parse_tensor_name(name).node for name in given_gradients(plan)]
    return [[*own, *_order(plan, workload.graph, phase, given)] for own, phase in zip(chosen, plan.phases)]


def _order(plan: Plan, graph: Graph, phase: Phase, given: Sequence[str]) -> List[ControlDependency]:
    """Returns that changes on the way to the gradients come before those of the weights.

    A train op that returns the loss, as `optimize_loss` makes one, does not wait for them in any other way.

    Args:
      plan: of the lift.
      graph: of the lift.
      phase: the train op.
      given: nodes whose results are given.
    """
    weights = {variable.name for variable in plan.variables if variable.role == "weight"}
    losses = [parse_tensor_name(name).node for name in phase.losses]
    behind = graph.ancestors([phase.train_op], stop=[*given, *losses])
    before = [effect.node for effect in phase.effects if effect.node not in behind]
    after = [effect.node for effect in phase.effects if effect.node in behind and not weights.isdisjoint(effect.writes)]
    return [ControlDependency(first, second) for first in before for second in after]
