"""Visits of a lifted program: its step counter near the schedule's numbers, other weights, slots and averages."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from parity.comparison.tour import Visit
from parity.coverage.visits.branch_visits import before_numbers, find_deciders, in_other_branches, overflowing
from parity.coverage.visits.changed_states import all_times, for_each_phase, times, weights_times
from parity.coverage.visits.counted_numbers import LARGEST, is_counted, numbers_beside
from parity.coverage.visits.counter_uses import counter_uses
from parity.coverage.visits.job_visits import (
    MOST_RANDOM,
    SMALL_SLOTS,
    ChooseVisits,
    CoverageState,
    random_visit,
    small_weights,
)
from parity.coverage.visits.norm_guards import at_guards_of_norms
from parity.coverage.visits.shifted_counts import behind_shifts
from parity.coverage.visits.staircases import stairs_of
from workloads.lifted.model_copies import model_copies
from workloads.lifted.plan import Variable
from workloads.lifted.synced_copies import synced_copies
from workloads.lifted.workload import KINDS, LiftedWorkload
from workloads.program import STATES, Arrays, State

#: Counts that are tried for a schedule or a warm-up whose steps are not constants of the graph.
LATE = (1_000, 100_000, 10_000_000)

#: Count of a program's first step, which one that starts from a checkpoint has left behind.
FIRST = 0

#: Multiples of the weights, tried while the mutant of any constant has not been detected.
SCALES = (4.0, 0.25, 32.0, 1 / 32)

#: An average of zeros is moved by this.
AWAY = 0.01

#: Number of further steps searched for small gradients: a constant that bounds small gradients acts only there.
MORE_STEPS = 300

#: A function that takes a number of steps from a state on, and returns the state before that of the smallest gradients.
FindSmallGradients = Callable[[State, int], State]


def visits_of_lift(
    workload: LiftedWorkload,
    numbers: Sequence[int],
    last: State,
    coverage: CoverageState,
    find_small_gradients: FindSmallGradients | None = None,
    with_overflow: bool = False,
) -> Iterator[Visit]:
    """Makes the visits of a lifted program, while any mutant is missing.

    Args:
      workload: the lift.
      numbers: that its learning rates are made of.
      last: the state after the ordinary steps.
      coverage: of the steps so far.
      find_small_gradients: for the visit of small gradients; None for no such visit.
      with_overflow: whether gradients may overflow: a comparison in float64 cannot show what follows.

    Yields:
      the visits; of a program with several train ops, each state once for each.
    """
    every = _visits_of_branches(workload, numbers, last, coverage, with_overflow)
    while_missing = itertools.takewhile(lambda _: coverage.any_missing(), every)
    yield from for_each_phase(while_missing, len(workload.plan.phases), last.step)
    if find_small_gradients is not None and coverage.any_missing():
        yield Visit(f"the smallest gradients of {MORE_STEPS} more steps", find_small_gradients(last, MORE_STEPS))


def with_equal_copies(choose: ChooseVisits, workload: LiftedWorkload) -> ChooseVisits:
    """Gives copies of weights the weights' values in all visits, for a port with losses that read only the weights.

    Args:
      choose: makes the visits.
      workload: the lift.

    Returns:
      the function that makes them; the same one for a port that has copies.
    """
    plan, graph, values = workload.plan, workload.graph, workload.values()
    is_written = bool(workload.losses) or workload.port is not None
    copies = {**model_copies(plan, graph, values), **synced_copies(plan, graph, values)} if is_written else {}
    if not copies:
        return choose

    def chosen(last: State, coverage: CoverageState) -> Iterator[Visit]:
        for visit in choose(last, coverage):
            yield visit._replace(state=_with_copies(visit.state, copies))

    return chosen


def _visits_of_branches(
    workload: LiftedWorkload, numbers: Sequence[int], last: State, coverage: CoverageState, with_overflow: bool
) -> Iterator[Visit]:
    """Yields the visits; of a program that changes variables in branches also those that take other branches."""
    deciders = find_deciders(workload) if coverage.any_missing() else None
    if deciders is None:
        yield from _visits(workload, numbers, last, coverage)
        return
    for visit in overflowing(last, deciders) if with_overflow else ():
        yield visit
        yield from before_numbers(visit, deciders)
    yield from in_other_branches(Visit("the last state", last), deciders)
    for visit in _visits(workload, numbers, last, coverage, deciders.numbers):
        yield visit
        yield from in_other_branches(visit, deciders)


def _visits(
    workload: LiftedWorkload,
    numbers: Sequence[int],
    last: State,
    coverage: CoverageState,
    more: Sequence[int] = (),
) -> Iterator[Visit]:
    counters = [v for v in workload.plan.variables if is_counted(workload.plan, workload.graph, v)]
    if counters and not numbers:  # an optimizer that was written by hand has no tensor of the learning rate
        numbers = numbers_beside(workload.plan, workload.graph, {v.name for v in counters})
    uses = counter_uses(workload.plan, workload.graph, {v.name for v in counters})
    found = [*numbers, *more, *stairs_of(uses), *behind_shifts(uses, numbers)]
    near = {number + shift for number in found for shift in (-1, 0, 1)}
    steps = sorted({count for count in near if count < LARGEST} | set(LATE))  # as after `min(step, sys.maxsize)`
    for count in [*steps, FIRST, *_halves(numbers, steps)] if counters else ():
        yield Visit(f"the graph's own count at {count:,}", _counted(last, counters, count))
    yield Visit("slots near zero", dataclasses.replace(last, slots=all_times(last.slots, SMALL_SLOTS)))
    averages, statistics = _halved(last.averages), _halved_statistics(workload, last)
    yield Visit("averages and statistics halved", dataclasses.replace(last, averages=averages, statistics=statistics))
    yield from small_weights(last, coverage.still_weights())
    for number in range(1, MOST_RANDOM + 1):
        yield random_visit(last, number)
    for scale in SCALES:
        yield weights_times(last, scale)
    yield from at_guards_of_norms(last)


def _halves(numbers: Sequence[int], visited: Sequence[int]) -> list[int]:
    """Returns the halves of numbers: a schedule that is flat at both ends, as by a cosine, is steepest between them."""
    return sorted({number // 2 for number in numbers if 4 <= number < LARGEST} - {*visited, FIRST})


def _halved(averages: Arrays) -> Arrays:
    """Returns averages halved; those of zeros, as of a bias that nothing trains, away from zero."""
    return {
        name: times(value, 0.5) if value.any() else np.asarray(value + AWAY, value.dtype)
        for name, value in averages.items()
    }


def _halved_statistics(workload: LiftedWorkload, state: State) -> Arrays:
    """Returns the statistics, halved unless they are counters: an average of a constant would not move otherwise.

    A variable that no op changes keeps its value, so that its average is away from it.
    """
    plan = workload.plan
    written = {name for phase in plan.phases for effect in phase.effects for name in effect.writes}
    floats = {v.name: v for v in plan.variables if v.role == "statistic" and v.dtype.startswith("float")}
    moving = floats.keys() & written & state.statistics.keys()
    halved = {name for name in moving if not is_counted(plan, workload.graph, floats[name])}
    return {name: times(value, 0.5) if name in halved else value for name, value in state.statistics.items()}


def _with_copies(state: State, copies: Mapping[str, str]) -> State:
    """Returns the state with copies, such as those of the first tower's model, set to their weights."""

    def same(arrays: Arrays) -> Arrays:
        return {name: state.weights[copies[name]] if name in copies else array for name, array in arrays.items()}

    return dataclasses.replace(state, weights=same(state.weights), statistics=same(state.statistics))


def _counted(state: State, counters: Sequence[Variable], count: int) -> State:
    """Returns the state with every counter set."""
    arrays: dict[str, Arrays] = {kind: dict(getattr(state, kind)) for kind in STATES}
    for counter in counters:
        kind, name = KINDS[counter.role], counter.name
        arrays[kind][name] = np.asarray(count, arrays[kind][name].dtype)
    return State(state.step, **arrays)
