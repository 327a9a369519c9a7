"""Order of updates that an old graph has by its gradients, for runs in which these are given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Collection, List, Optional, Sequence

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
    so reads the weights as they were. So does what gradients and another change are both computed from, as where such
    an iteration is assigned beside the update. Without the gradients' ops nothing else says so.

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
    """Returns that changes on the way to the gradients, and what others assign of it, come before those of the weights.

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
    order = [ControlDependency(first, second) for first in before for second in after]
    others = [one for one in phase.effects if one.node in behind and weights.isdisjoint(one.writes)]
    values = [parse_tensor_name(value).node for one in others for value in one.values]
    return [*order, *_reads_before(graph, weights, values, after, given)]


def _reads_before(
    graph: Graph, weights: Collection[str], values: Sequence[str], updates: Sequence[str], given: Sequence[str]
) -> List[ControlDependency]:
    """Returns that what is assigned of weights comes before their updates where their gradients are computed of it.

    Args:
      graph: of the lift.
      weights: the weights.
      values: nodes of what is assigned to other variables.
      updates: of the weights.
      given: nodes whose results are given.
    """
    of_gradients = graph.ancestors(given, controls=False)
    of_weights = graph.descendants(weights, controls=False)
    reads = graph.ancestors(values, stop=given, controls=False).difference(given) & of_gradients & of_weights
    last = [name for name in reads if not any(use.node in reads for use in graph.users(name))]
    behind = {first: graph.ancestors([first]) for first in last}  # an update may come before what is read after it
    return [
        ControlDependency(first, second) for first in sorted(last) for second in updates if second not in behind[first]
    ]
