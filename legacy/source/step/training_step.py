"""A training step as the source says it: model, optimizer, schedule, clipping, averages; no update is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, List, NamedTuple, Optional, TypeVar

import numpy as np

from legacy.saved.graph.imported import imported_graph
from legacy.source.basics.divided_losses import divided_by_replicas
from legacy.source.basics.unwritten import Unwritten
from legacy.source.basics.values_of_all import uses_values_of_all
from legacy.source.step.averages import Average, find_average
from legacy.source.step.clipping import find_clipping
from legacy.source.step.learning import (
    Rule,
    combining,
    find_counter,
    find_counters,
    find_rule,
    learning_rate_tensor,
)
from legacy.source.step.model import Model, all_statements, has_own_variables, recover_model
from legacy.source.step.schedules import LearningRate, find_learning_rate
from legacy.source.step.statistics import Statistics, find_statistics
from legacy.source.step.weight_order import clipped_weights, in_clipped_order
from workloads.lifted.averaging import average_form
from workloads.lifted.reduction_factors import sums_to_mean
from workloads.numerics.statistics import FIRST_TOWER

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Phase, Plan
    from workloads.numerics.clip_rule import Clip

#: A part of a step.
Part = TypeVar("Part")


class TrainingStep(NamedTuple):
    """A training step, recovered.

    Attributes:
      model: the loss and the statistics.
      rule: the optimizer.
      learning_rate: the schedule.
      combine: "mean" or "sum".
      form: of a mean; see `average_form`.
      clip: clipping, or None.
      average: the weights' moving average, or None.
      counter: the variable that counts the steps, or "".
    """

    model: Model
    rule: Rule
    learning_rate: LearningRate
    combine: str
    form: str
    clip: Optional[Clip]
    average: Optional[Average]
    counter: str


def recover_step(
    plan: Plan,
    graph: Graph,
    starts: Mapping[str, float],
    initializers: Mapping[str, str],
    held: Mapping[str, np.ndarray] | None = None,
) -> TrainingStep:
    """Recovers the training step of a lift.

    Args:
      plan: of the lift.
      graph: of the lift.
      starts: {slot: number that it starts from}.
      initializers: {variable: text of its initializer}.
      held: see `find_learning_rate`.

    Returns:
      The step.

    Raises:
      Unwritten: parts of it cannot be said; the message names each part on a line of its own.
    """
    if len(plan.phases) > 1:
        ops = ", ".join(phase.train_op for phase in plan.phases)
        raise Unwritten(f"train ops: {ops} run in turn; a workload has one loss and one update")
    (phase,) = plan.phases
    if phase.returns and any(phase.returns):
        raise Unwritten("towers: a tower's loss depends on all towers' results")
    shape = plan.tensors[phase.losses[0]].shape if phase.losses else None
    if shape and set(shape) != {1}:
        raise Unwritten("loss: it has several values, of which the sum is minimized; a workload has one")
    if phase.other_losses:
        raise Unwritten("loss: several are minimized; a workload has one")
    imported = imported_graph(graph)
    counters = find_counters(phase, imported)
    parts = _Parts()
    parts.take(lambda: _require_unconditional(phase))
    rule = parts.take(lambda: find_rule(phase, imported, starts))
    combine = parts.take(lambda: _combining(plan, graph, phase))
    learning_rate = parts.take(lambda: _learning_rate(plan, graph, phase, counters, held or {}))
    clip = parts.take(lambda: find_clipping(plan, graph, phase))
    average = parts.take(lambda: find_average(plan, graph, phase, counters))
    none = Statistics(FIRST_TOWER, [[] for _ in range(plan.towers)])
    statistics = parts.take(lambda: _statistics(plan, graph, phase, counters)) or none
    model = parts.take(lambda: recover_model(plan, graph, phase, statistics, initializers, counters, scalar=True))
    if model is not None and has_own_variables(model):
        parts.reasons.append("model: towers read variables of their own; a workload's replicas share all")
    if model is not None and uses_values_of_all([one.expression for one in all_statements(model)]):
        parts.reasons.append(
            "inputs: towers use all of a batch, and not only their parts of it; a workload's have these"
        )
    if model is not None and not model.inputs:
        parts.reasons.append("inputs: no data enter a step; a workload has at least one input")
    if parts.reasons:
        raise Unwritten("\n".join(dict.fromkeys(parts.reasons)))
    assert model is not None and rule is not None and learning_rate is not None and combine is not None
    if combine == "sum":
        *before, loss = model.statements
        divided = loss._replace(expression=divided_by_replicas(loss.expression, plan, phase))
        model = model._replace(statements=[*before, divided])
    model = in_clipped_order(model, clipped_weights(plan, phase), clip)
    form, counter = average_form(plan, graph), find_counter(plan, imported)
    return TrainingStep(model, rule, learning_rate, combine, form, clip, average, counter)


def _require_unconditional(phase: Phase) -> None:
    """Raises `Unwritten` if a variable is changed in some steps only: the fields of a workload hold in every step."""
    for effect in phase.effects:
        if effect.condition is not None:
            raise Unwritten(f"updates: {effect.writes[0]!r} is changed in a branch of a cond only ({effect.node})")


class _Parts:
    """Recovers the parts of a step, and goes on where one cannot be said.

    Attributes:
      reasons: why parts cannot be said.
    """

    def __init__(self) -> None:
        self.reasons: List[str] = []

    def take(self, recover: Callable[[], Part]) -> Optional[Part]:
        """Returns what `recover` gives; None if the part cannot be said."""
        try:
            return recover()
        except Unwritten as reason:
            self.reasons.append(str(reason))
            return None


def _learning_rate(
    plan: Plan, graph: Graph, phase: Phase, counters: Sequence[str], held: Mapping[str, np.ndarray]
) -> LearningRate:
    rate = learning_rate_tensor(phase)
    if rate is None:
        weights = {effect.learning_rate: effect.writes[0] for effect in phase.effects if effect.learning_rate}
        found = ", ".join(f"{tensor} of {weight!r}" for tensor, weight in weights.items())
        raise Unwritten(f"learning rate: {'weights have different ones: ' + found if found else 'no op has one'}")
    return find_learning_rate(plan, graph, phase, rate, counters, held)


def _statistics(plan: Plan, graph: Graph, phase: Phase, counters: Sequence[str]) -> Statistics:
    found = find_statistics(plan, graph, phase, counters, again=True)
    if found.in_rounds:
        raise Unwritten("statistics: towers change them in several rounds; a workload's make all their changes in one")
    return found


def _combining(plan: Plan, graph: Graph, phase: Phase) -> str:
    combine = combining(plan, graph, phase)
    return _combining_of_shared_loss(plan, phase) if phase.shared_loss else combine


def _combining_of_shared_loss(plan: Plan, phase: Phase) -> str:
    if sums_to_mean(phase, plan.towers) and phase.loss_scale > 0:
        return "mean"
    if phase.loss_scale == 1.0:
        return "sum"
    raise Unwritten(f"loss: the loss of each tower counts {phase.loss_scale:g} in one loss of all towers")
