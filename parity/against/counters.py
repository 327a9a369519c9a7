"""Variables of an old graph that count steps, which a workload's schedule gets as the number of the step itself."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from workloads.lifted.graph import Graph, parse_tensor_name
from workloads.lifted.plan import Effect, Phase, Plan
from workloads.program import Arrays
from workloads.support.errors import InputError

_ADDS = ("AssignAdd", "AssignAddVariableOp")


class Counter(NamedTuple):
    """A variable of the old graph that counts steps; a workload has none, its step is a number of its own.

    Attributes:
      name: of the variable.
      increment: the number that a step adds to it.
      start: its value at step 0.
    """

    name: str
    increment: int
    start: int = 0

    def value(self, step: int) -> int:
        """Returns the variable's value before step `step`."""
        return self.start + self.increment * step


class Counters(NamedTuple):
    """The counters, and the number of the step that starts from the lift's checkpoint."""

    first_step: int
    counters: tuple[Counter, ...]


def find_counters(plan: Plan, graph: Graph, values: Arrays, first_step: int) -> Counters:
    """Finds the variables that count steps.

    Args:
      plan: of the lift.
      graph: of the lift.
      values: {variable: value in the lift's checkpoint}.
      first_step: number of the next step, for a graph without counters.

    Returns:
      the counters; the first step is what the first of them has counted, since the schedule depends on it.

    Raises:
      InputError: the first counter's value is no multiple of its increment.
    """
    increments = constant_increments(plan, graph)
    for name, increment in list(increments.items())[:1]:
        value = int(values[name])
        if value % increment:
            raise InputError(
                f"--against: {name!r} is {value} in the checkpoint, no multiple of the {increment} of a step"
            )
        first_step = value // increment
    starts = {name: int(values[name]) - increment * first_step for name, increment in increments.items()}
    return Counters(first_step, tuple(Counter(name, increment, starts[name]) for name, increment in increments.items()))


def constant_increments(plan: Plan, graph: Graph) -> dict[str, int]:
    """Returns {scalar variable: the number that every step adds to it}, for variables that nothing else changes."""
    scalars = [variable.name for variable in plan.variables if not variable.shape and variable.role == "statistic"]
    found = {}
    for name in scalars:
        sums = {_increment(phase, graph, name) for phase in plan.phases}
        total = sums.pop()
        if not sums and total:
            found[name] = total
    return found


def _increment(phase: Phase, graph: Graph, name: str) -> int:
    """Returns the number that a phase adds to a variable; 0 if it changes it in another way, or not at all."""
    effects = [effect for effect in phase.effects if name in effect.writes]
    steps = [_constant(effect, graph) for effect in effects]
    return 0 if None in steps else sum(step for step in steps if step is not None)


def _constant(effect: Effect, graph: Graph) -> int | None:
    """Returns the whole number that an effect always adds, or None if it is no such effect."""
    if effect.op not in _ADDS or effect.condition is not None:
        return None
    node = graph.nodes[graph.origin(parse_tensor_name(effect.values[0])).node]
    if node.op != "Const":
        return None
    value = float(np.squeeze(tf.make_ndarray(node.attr["value"].tensor)))
    return int(value) if value.is_integer() else None
