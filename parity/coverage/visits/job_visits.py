"""Visits: states in which choices act that the first steps of a training run do not exercise."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from parity.comparison.tour import Visit
from parity.coverage.mutant import Exposure
from parity.coverage.mutants.state_mutants import end_of_warm_up
from parity.coverage.schedules import LARGEST
from parity.coverage.visits.changed_states import all_times, for_each_phase, times, weights_times
from parity.coverage.visits.steep_weights import find_steep_weights
from workloads.job import Job
from workloads.numerics import random_keys
from workloads.program import Arrays, State
from workloads.sources import Source

#: Powers of 2, or of 1/2, that the weights are multiplied by in search of a state in which clipping acts, or does not;
#: then further ones, tried where gradient ascent finds no such state either.
DOUBLINGS, MORE_DOUBLINGS = range(1, 6), range(6, 15)

#: Multiples of a clip's limit that one tower's gradient is then brought to.
STEEP_FACTORS = (1.2, 4.0, 32.0)

#: Slots near zero, where an optimizer's epsilon shows.
SMALL_SLOTS = 2.0**-40

#: Weights so near zero that a gradient of rounding alone moves them.
SMALL_WEIGHTS = 2.0**-60

#: Multiples of the weights that two forward passes of different code are compared at.
FAR = (8.0, 0.125)

#: Draws of random weights that are tried while a mutant needs them, such as that of a weight that never moves.
MOST_RANDOM = 4


class CoverageState(NamedTuple):
    """Coverage by the steps that were compared so far, by which the next visit is chosen.

    Attributes:
      any_missing: tells whether any mutant that can matter has not been detected.
      needs: tells whether one of them shows in such a state.
      taken: tells whether a step of that number was compared.
      is_finite: tells whether the last compared step was free of NaN and infinity.
      first_steps: returns the first steps that mutants change which have not been detected.
      still_weights: returns the weights that have moved in no compared step.
    """

    any_missing: Callable[[], bool]
    needs: Callable[[Exposure], bool]
    taken: Callable[[int], bool]
    is_finite: Callable[[], bool]
    first_steps: Callable[[], Sequence[int]] = tuple
    still_weights: Callable[[], Sequence[str]] = tuple


#: A function from the state after the ordinary steps, and the coverage so far, to the visits.
ChooseVisits = Callable[[State, CoverageState], Iterator[Visit]]


def visits_of_job(
    job: Job, last: State, boundaries: Sequence[int], source: Source, coverage: CoverageState
) -> Iterator[Visit]:
    """Makes the visits of a job, each when the one before was compared.

    Args:
      job: the job.
      last: the state after the ordinary steps.
      boundaries: the first steps after a jump of the learning rate.
      source: of the batches.
      coverage: of the steps so far.

    Yields:
      the visits.
    """
    yield from _steps_around(last, boundaries, coverage)
    for end in source.ends():
        if not coverage.taken(end):
            yield Visit(f"step {end:,} (the data end)", dataclasses.replace(last, step=end))
    yield from _averages(job, last)
    for step in [step for step in coverage.first_steps() if 0 <= step <= LARGEST and not coverage.taken(step)]:
        yield Visit(f"step {step:,} (the learning rate has changed)", dataclasses.replace(last, step=step))
    yield from for_each_phase(_states(job, source, last, coverage), 1, last.step)


def _steps_around(last: State, boundaries: Sequence[int], coverage: CoverageState) -> Iterator[Visit]:
    places = {-1: "before", 0: "at", 1: "after"}
    for boundary in boundaries:
        for shift, place in places.items():
            step = boundary + shift
            if 0 <= step <= LARGEST and not coverage.taken(step):
                yield Visit(
                    f"step {step:,} ({place} a boundary of the learning rate)", dataclasses.replace(last, step=step)
                )


def _averages(job: Job, last: State) -> Iterator[Visit]:
    """The steps around the end of the warm-up, with averages far enough from the weights for their decay to show."""
    rule = job.workload.moving_average
    if rule is None:
        return
    far = dataclasses.replace(last, averages=all_times(last.averages, 0.5))
    end = end_of_warm_up(rule)
    if not end:
        yield Visit("averages of half the weights", far)
    elif end <= LARGEST:
        for step in range(max(end - 1, 0), end + 2):
            name = f"step {step:,} (the averages' warm-up ends)"
            yield Visit(name, dataclasses.replace(far, step=step))


def _states(job: Job, source: Source, last: State, coverage: CoverageState) -> Iterator[Visit]:
    """Visits of other weights and slots."""
    if coverage.needs(Exposure.SMALL_SLOTS):
        small = all_times({name: value for name, value in last.slots.items() if "/" in name}, SMALL_SLOTS)
        yield Visit("slots near zero", dataclasses.replace(last, slots={**last.slots, **small}))
    if job.workload.clip is not None:
        yield from _clipped(job, source, last, coverage)
        yield from _scaled_weights(last, coverage, 0.5, lambda: coverage.needs(Exposure.SMALL_GRADIENTS))
    yield from small_weights(last, coverage.still_weights())
    for number in range(1, MOST_RANDOM + 1):
        if coverage.needs(Exposure.RANDOM_WEIGHTS):
            yield random_visit(last, number)


def _clipped(job: Job, source: Source, last: State, coverage: CoverageState) -> Iterator[Visit]:
    """States of ever larger gradients, until clipping acts: scaled weights first, then a search."""
    assert job.workload.clip is not None  # the caller's condition

    def is_wanted() -> bool:
        return coverage.needs(Exposure.LARGE_GRADIENTS)

    yield from _scaled_weights(last, coverage, 2.0, is_wanted)
    for factor in STEEP_FACTORS:
        if is_wanted():
            norm = factor * job.workload.clip.limit
            weights = find_steep_weights(job, source.shards(last.step)[0], last, norm)
            if weights is not None:
                name = f"weights of a gradient {factor:g} times the clip"
                yield Visit(name, dataclasses.replace(last, weights=weights))
    yield from _scaled_weights(last, coverage, 2.0, is_wanted, MORE_DOUBLINGS)


def _scaled_weights(
    last: State,
    coverage: CoverageState,
    factor: float,
    is_wanted: Callable[[], bool],
    powers: Sequence[int] = DOUBLINGS,
) -> Iterator[Visit]:
    for power in powers:
        if not is_wanted():
            return
        yield weights_times(last, factor**power)
        if not coverage.is_finite():
            return


def small_weights(state: State, names: Sequence[str]) -> Iterator[Visit]:
    """Makes weights so small that they move by gradients that are rounded off beside them.

    The bias of a layer before batch normalization has such a gradient, which is rounding alone.

    Args:
      state: the state to change.
      names: of the weights.

    Yields:
      the visit of the state with those weights near zero; nothing without any.
    """
    found = {name: times(state.weights[name], SMALL_WEIGHTS) for name in names if name in state.weights}
    if found:
        yield Visit(
            "weights near zero that have not moved", dataclasses.replace(state, weights={**state.weights, **found})
        )


def random_visit(state: State, number: int) -> Visit:
    """Draws other weights: in even draws as large as they are, in odd draws around two and around minus two in turn.

    Args:
      state: the state to change.
      number: of the draw.

    Returns:
      the visit of the state with those weights.
    """
    weights: Arrays = {}
    for name, value in state.weights.items():
        drawn = random_keys.generator("coverage", number, name).normal(size=value.shape)
        if number % 2:
            drawn += 2.0 if number % 4 == 1 else -2.0
        else:
            drawn *= float(np.sqrt(np.mean(np.square(value, dtype=np.float64)))) if value.size else 0.0
        weights[name] = np.asarray(drawn, value.dtype)
    return Visit(f"random weights {number}", dataclasses.replace(state, weights=weights), has_random_weights=True)


def with_far_weights(choose: ChooseVisits, phases: int) -> ChooseVisits:
    """Adds visits of weights far from those of the run, for sides with forward passes of different code.

    There limits act that a run stays within, such as those of a `relu6`, a `clip_by_value` or a guard.

    Args:
      choose: makes the other visits.
      phases: number of train ops that are run in turn; each state is visited once for each.

    Returns:
      the function that makes both.
    """

    def chosen(last: State, coverage: CoverageState) -> Iterator[Visit]:
        yield from choose(last, coverage)
        far = [*(weights_times(last, scale) for scale in FAR), random_visit(last, 1)]
        for visit in for_each_phase(far, phases, last.step):
            yield visit._replace(may_overflow=True)

    return chosen
