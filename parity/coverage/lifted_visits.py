"""Visits of a lifted program: its step counter near the schedule's numbers, other weights, slots and averages."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from parity.comparison.tour import Visit
from parity.coverage.visits import MOST_RANDOM, RANDOM, SMALL_SLOTS, View, random_weights
from workloads.lifted.plan import Variable
from workloads.lifted.workload import KINDS, LiftedWorkload
from workloads.program import STATES, Arrays, State

#: Counts at which a schedule or a warm-up that names no number may change.
LATE = (1_000, 100_000, 10_000_000)

#: Multiples of the weights, tried while a constant is missing.
SCALES = (4.0, 0.25, 32.0, 1 / 32)

#: Number of steps among which one of small gradients is sought, while a constant is missing: what caps a small gradient
#: shows there alone.
MORE_STEPS = 300

#: A function that changes a state's arrays.
ChangeState = Callable[[State], State]


#: A function that takes a number of steps from a state on, and returns the state before that of the smallest gradients.
FindFlat = Callable[[State, int], State]


def visits_of_lift(
    workload: LiftedWorkload, numbers: Sequence[int], last: State, view: View, find_flat: FindFlat | None = None
) -> Iterator[Visit]:
    """Makes the visits of a lifted program, while any mutant is missing.

    Args:
      workload: the lift.
      numbers: that its learning rates are made of.
      last: the state after the ordinary steps.
      view: what has been seen so far.
      find_flat: for the visit of small gradients; None for no such visit.

    Yields:
      the visits; of a program with several train ops, each state once for each.
    """
    step, phases = last.step, len(workload.plan.phases)
    for name, change in _changes(workload, numbers):
        if not view.is_missing(""):
            return
        changed = change(last)
        for _ in range(phases):
            yield Visit(name, dataclasses.replace(changed, step=step))
            step += 1
    if find_flat is not None and view.is_missing(""):
        yield Visit(f"the smallest gradients of {MORE_STEPS} more steps", find_flat(last, MORE_STEPS))


def _changes(workload: LiftedWorkload, numbers: Sequence[int]) -> Iterator[tuple[str, ChangeState]]:
    counters = [v for v in workload.plan.variables if v.dtype in ("int32", "int64") and not v.shape]
    steps = sorted({number + shift for number in numbers for shift in (-1, 0, 1)} | set(LATE))
    for count in steps if counters else ():
        yield f"the graph's own count at {count:,}", functools.partial(_counted, counters, count)
    yield "slots near zero", functools.partial(_scaled, "slots", SMALL_SLOTS)
    yield "averages of half the weights", functools.partial(_scaled, "averages", 0.5)
    for number in range(1, MOST_RANDOM + 1):
        yield f"{RANDOM} {number}", functools.partial(_drawn, number)
    for scale in SCALES:
        yield f"weights times {scale:g}", functools.partial(_scaled, "weights", scale)


def _counted(counters: Sequence[Variable], count: int, state: State) -> State:
    """The state with every counter set."""
    arrays: dict[str, Arrays] = {kind: dict(getattr(state, kind)) for kind in STATES}
    for counter in counters:
        kind, name = KINDS[counter.role], counter.name
        arrays[kind][name] = np.asarray(count, arrays[kind][name].dtype)
    return State(state.step, **arrays)


def _drawn(number: int, state: State) -> State:
    return random_weights(state, number)


def _scaled(kind: str, factor: float, state: State) -> State:
    arrays: Arrays = getattr(state, kind)
    floats = {
        name: np.asarray(value * factor, value.dtype) for name, value in arrays.items() if value.dtype.kind == "f"
    }
    changed = {other: getattr(state, other) for other in STATES}
    return State(state.step, **{**changed, kind: {**arrays, **floats}})
