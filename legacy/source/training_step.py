"""A training step as the source says it: model, optimizer, schedule, clipping, averages; no update is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, NamedTuple, Optional

import numpy as np

from legacy.saved.graph.imported import ImportedGraph
from legacy.source.averages import Average, find_average
from legacy.source.basics.unwritten import Unwritten
from legacy.source.clipping import find_clipping
from legacy.source.learning import (
    Rule,
    combining,
    find_counters,
    find_rule,
    learning_rate_tensor,
)
from legacy.source.model import Model, recover_model
from legacy.source.schedules import LearningRate, find_learning_rate
from legacy.source.statistics import find_statistics

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Phase, Plan
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
    """

    model: Model
    rule: Rule
    learning_rate: LearningRate
    combine: str
    clip: Optional[Clip]
    average: Optional[Average]


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
    statistics = find_statistics(plan, graph, phase, counters)
    model = recover_model(plan, graph, phase, statistics, initializers, counters)
    return TrainingStep(model, rule, learning_rate, combine, clip, average)


def _combining_of_shared_loss(plan: Plan, phase: Phase) -> str:
    if abs(phase.loss_scale * plan.towers - 1.0) < 1e-6:
        return "mean"
    if phase.loss_scale == 1.0:
        return "sum"
    raise Unwritten(f"loss: the loss of each tower counts {phase.loss_scale:g} in one loss of all towers")
