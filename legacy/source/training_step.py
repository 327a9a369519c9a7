"""A training step as the source says it: model, optimizer, schedule, clipping, averages; no update is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, NamedTuple, Optional, Sequence

import numpy as np

from legacy.saved.graph.imported import ImportedGraph
from legacy.source.averages import Average, find_average
from legacy.source.clipping import find_clipping
from legacy.source.learning import Rule, Unwritten, combining, find_rule, is_rule, learning_rate_tensor
from legacy.source.model import Model, Proposal, recover_model
from legacy.source.schedules import LearningRate, find_learning_rate
from workloads.lifted.graph import parse_tensor_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Effect, Phase, Plan
    from workloads.numerics.clip_rule import Clip


class TrainingStep(NamedTuple):
    """A training step, recovered.

    Attributes:
      model: the loss and the statistics.
      rule: the optimizer.
      learning_rate: the schedule.
      combine: "mean" or "sum".
      clip: clipping, or None.
      average: the weights' moving average, or None.
      statistics: value of the workload's field.
    """

    model: Model
    rule: Rule
    learning_rate: LearningRate
    combine: str
    clip: Optional[Clip]
    average: Optional[Average]
    statistics: str


def recover_step(
    plan: Plan, graph: Graph, initial: Dict[str, np.ndarray], initializers: Mapping[str, str]
) -> TrainingStep:
    """Recovers the training step of a lift.

    Args:
      plan: of the lift.
      graph: of the lift.
      initial: {variable: value to start from}.
      initializers: {variable: text of its initializer}.

    Returns:
      The step.

    Raises:
      Unwritten: a part of it cannot be said; the message names the part.
    """
    if len(plan.phases) > 1:
        ops = ", ".join(phase.train_op for phase in plan.phases)
        raise Unwritten(f"train ops: {ops} run in turn; a workload has one loss and one update")
    (phase,) = plan.phases
    imported = ImportedGraph(graph)
    if phase.returns and any(phase.returns):
        raise Unwritten("towers: a tower's loss depends on all towers' results")
    counters = find_counters(phase, imported)
    rule = find_rule(phase, imported, initial)
    combine = combining(plan, phase)
    if phase.shared_loss:
        combine = _combining_of_shared_loss(plan, phase)
    rate = learning_rate_tensor(phase)
    if rate is None:
        raise Unwritten("learning rate: weights have different ones")
    learning_rate = find_learning_rate(plan, graph, phase, rate, counters)
    clip = find_clipping(plan, graph, phase)
    average = find_average(plan, graph, phase, counters)
    proposals = statistic_proposals(plan, graph, phase, counters)
    statistics = "first_tower"
    model = recover_model(plan, graph, phase, proposals, initializers)
    return TrainingStep(model, rule, learning_rate, combine, clip, average, statistics)


def _combining_of_shared_loss(plan: Plan, phase: Phase) -> str:
    if abs(phase.loss_scale * plan.towers - 1.0) < 1e-6:
        return "mean"
    if phase.loss_scale == 1.0:
        return "sum"
    raise Unwritten(f"loss: the loss of each tower counts {phase.loss_scale:g} in one loss of all towers")


def find_counters(phase: Phase, imported: ImportedGraph) -> List[str]:
    """Returns the variables that a train op adds 1 to."""
    found = []
    for effect in phase.effects:
        if effect.op in ("AssignAdd", "AssignAddVariableOp") and len(effect.values) == 1:
            value = imported.constant(*parse_tensor_name(effect.values[0]))
            if value is not None and value.shape == () and value == 1:
                found.append(effect.writes[0])
    return found


def statistic_proposals(
    plan: Plan, graph: Graph, phase: Phase, counters: Sequence[str] | None = None
) -> List[Proposal]:
    """Finds the first tower's updates of statistics.

    Args:
      plan: of the lift.
      graph: of the lift.
      phase: the train op.
      counters: names of the variables that count steps; None to find them.

    Returns:
      The updates.

    Raises:
      Unwritten: an update is none of a rule, counter, average, accumulator or statistic.
    """
    if counters is None:
        counters = find_counters(phase, ImportedGraph(graph))
    roles = {variable.name: variable for variable in plan.variables}
    averages = {variable.name for variable in plan.variables if variable.role == "average"}
    accumulators = {v.name for v in plan.variables if v.role == "slot" and not v.of}
    cuts = [{tensor for entry in plan.inputs for tensor in entry.tensors[t : t + 1]} for t in range(plan.towers)]
    found: Dict[str, List[tuple[int, Effect]]] = {}
    for effect in phase.effects:
        name = effect.writes[0]
        if is_rule(effect.op) or name in counters or name in averages or name in accumulators:
            continue
        variable = roles[name]
        if variable.role != "statistic":
            what = "state of one tower" if variable.role == "state" else f"{variable.role}, by {effect.op}"
            raise Unwritten(f"updates: {name!r} ({what}) is changed outside of the optimizer")
        tower = _tower_of(graph, effect, cuts)
        found.setdefault(name, []).append((tower, effect))
    proposals = []
    for name, effects in found.items():
        if len(effects) > 1:
            towers = ", ".join(str(tower) for tower, _ in effects)
            raise Unwritten(f"statistics: {name!r} is changed by towers {towers} one after the other, in any order")
        tower, effect = effects[0]
        if tower != 0:
            raise Unwritten(f"statistics: {name!r} is changed by tower {tower}")
        proposals.append(Proposal(name, effect.op, effect.values[0], effect.node))
    return proposals


def _tower_of(graph: Graph, effect: Effect, cuts: Sequence[set[str]]) -> int:
    """Returns the tower whose data an update depends on; -1 if it is not one tower."""
    before = graph.ancestors([parse_tensor_name(value)[0] for value in effect.values], controls=False)
    towers = [n for n, own in enumerate(cuts) if any(parse_tensor_name(tensor)[0] in before for tensor in own)]
    if len(towers) > 1:  # a split of one placeholder is in all towers' past: tell by the tensors themselves
        used = {tensor.name for node in before for tensor in graph.inputs(node)}
        towers = [number for number, own in enumerate(cuts) if own & used]
    return towers[0] if len(towers) == 1 else -1
