"""Choices of an old graph that its update ops show: the optimizer with its constants, the moving average."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from legacy.source.basics.unwritten import Unwritten
from legacy.source.step.averages import find_average
from workloads.lifted.optimizer import OtherUpdate, optimizer_of_lift
from workloads.lifted.workload import LiftedWorkload
from workloads.workload import MovingAverage


def stated_choices(lift: LiftedWorkload, counters: Sequence[str]) -> dict[str, Any]:
    """Reads the choices by which the towers' own updates can be judged.

    A port's fields say nothing of the old graph: where the two differ, that is what is to be found.

    Args:
      lift: the old graph.
      counters: names of its variables that count steps.

    Returns:
      {field of a workload: value}, of `optimizer` and `moving_average`; a field that the graph does not show in a known
      form is left out.
    """
    choices: dict[str, Any] = {}
    weights = [variable.name for variable in lift.plan.variables if variable.role == "weight"]
    with contextlib.suppress(OtherUpdate):
        choices["optimizer"] = optimizer_of_lift(lift, weights)
    with contextlib.suppress(Unwritten):
        average = find_average(lift.plan, lift.graph, lift.plan.phases[0], counters)
        if average is not None:
            choices["moving_average"] = MovingAverage(average.decay, average.warm_up)
    return choices
