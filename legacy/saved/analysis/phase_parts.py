"""The parts of one train op, as the analysis finds them before it is written into the plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from legacy.saved.analysis.division.parts import StepParts
from legacy.saved.analysis.order.ordering import Order
from legacy.saved.analysis.order.step_flow import StepFlow
from workloads.lifted.graph import TensorId
from workloads.lifted.plan import Effect


class PhaseParts(NamedTuple):
    """A train op, analysed.

    Attributes:
      target: the train op.
      members: nodes that it runs, and those of the losses.
      order: the order of its reads and updates.
      losses: each tower's loss; empty if the gradient graph does not tell.
      divided: its towers, and what is computed once.
      effects: its update ops, in order.
      other_losses: further rows of the towers' losses.
      loss_weights: see `TowerLosses.weights`.
      computed: nodes of the step's computation: those that depend on its data, and those of its losses.
      flow: paths from and to the update ops.
      elsewhere: for each other train op, the nodes that it runs.
    """

    target: str
    members: set[str]
    order: Order
    losses: list[TensorId]
    divided: StepParts
    effects: list[Effect]
    other_losses: list[list[TensorId]]
    loss_weights: Sequence[float]
    computed: set[str]
    flow: StepFlow
    elsewhere: list[set[str]]
