"""Steps that both sides take with another bound, such as the limit of a clipping that no gradient reaches.

While a bound is never reached, or reached in every step, constants that act in the other case change nothing, whatever
the state. A comparison would not see them wrong. So both sides are made anew with another value of the bound, and take
one step each.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

import modern.factory
from parity.comparison.result import Verification
from parity.comparison.runs.options import Observers
from parity.comparison.runs.verification import verify
from parity.comparison.setup import Setup
from parity.comparison.tour import Tour, Visit
from parity.coverage.graph.constants import ConstantIndex, GraphConstant
from parity.coverage.graph.outside_constants import place_of
from parity.coverage.measuring.measurement import Measurement
from parity.coverage.mutant import Choice, MutantOutcome
from parity.verdict.measurement_plan import CoveragePlan, measurement
from workloads.lifted.constants import with_constants
from workloads.lifted.workload import as_lifted
from workloads.program import Program, State, StepRecord
from workloads.support.errors import OpFailed
from workloads.variable_spec import VariableSpec

#: At most so many bounds of different values are changed.
MOST_BOUNDS = 8
#: Factors on a bound, tried in turn until all mutants of constants have been seen. The last one is for a lower
#: bound below zero, which gradients reach once it is above zero.
FACTORS = (1 / 8, 8.0, 1 / 512, 512.0, 2.0**-24, 2.0**24, -1.0)


def visit_bounds(setup: Setup, coverage: Measurement, verification: Verification) -> None:
    """Compares one step of both sides with each other bound that shows a mutant which was not seen.

    Args:
      setup: of a lift; both sides have been compared bit by bit.
      coverage: of that comparison; the steps are added to it.
      verification: of that comparison; the steps are added to its visits.
    """
    workload, towers, last = as_lifted(setup.job.workload), coverage.towers, coverage.last
    if towers is None or last is None:
        return
    try:
        for constant in _bounds(towers.index) if coverage.misses_constants() else ():
            for factor in FACTORS:
                if not coverage.misses_constants() or not verification.passed:
                    return
                value = np.asarray(constant.value * factor, constant.value.dtype)
                changed = with_constants(workload, {place_of(name): value for name in constant.nodes})
                if changed is None or not np.isfinite(value).all() or workload.port is not None and value.size != 1:
                    continue
                towers.set_bounds({name + ":0": value for name in constant.nodes})
                for visit in _visits(constant, value, last, len(workload.plan.phases)):
                    try:
                        record = towers.step_from(visit.state)
                    except OpFailed:
                        continue  # no program has this bound, such as the number of values that a window keeps
                    if coverage.would_see_more(visit.state, record, visit):
                        both = dataclasses.replace(setup, job=dataclasses.replace(setup.job, workload=changed))
                        both = both if workload.port is None else _with_bound_in_port(both, constant.value, value)
                        _compare(both, visit, coverage, verification)
    finally:
        towers.set_bounds({})


def _bounds(index: ConstantIndex) -> list[GraphConstant]:
    """Returns the bounds of an update, all of one value as one, as of gradients that are each clipped at the same norm.

    A limit in an expression such as 1 / limit comes before the 1.
    """
    groups: dict[tuple[bytes, str], list[GraphConstant]] = {}
    for bound in index.bounds():
        groups.setdefault((bound.value.tobytes(), str(bound.value.dtype)), []).append(bound)
    joined = [one[0]._replace(nodes=tuple(node for bound in one for node in bound.nodes)) for one in groups.values()]
    return sorted(joined, key=lambda bound: bool(np.all(bound.value == 1)))[:MOST_BOUNDS]


def visit_clip(setup: Setup, specs: Sequence[VariableSpec], coverage: Measurement, verification: Verification) -> None:
    """Compares one step of a workload and an old graph at another limit, if clipping or its absence was not shown yet.

    A limit that no gradient reaches hides the clipping; one that all exceed hides what it takes out again, as a sum for
    a mean.

    The old graph's limit is sought among its constants, by its value. If the two sides differ at another limit, the
    constant that was found may be no limit, so that the step proves nothing and is left out.

    Args:
      setup: of the workload and the old graph, which have been compared bit by bit.
      specs: the workload's variables.
      coverage: of that comparison; mutants of the clipping that the steps show are seen.
      verification: of that comparison; the steps are added to its visits.
    """
    clip, last = setup.job.workload.clip, coverage.last
    if setup.with_clip is None or clip is None or last is None:
        return
    for factor in [factor for factor in FACTORS if factor > 0]:
        outcomes = _clipping_outcomes(coverage)
        changed = setup.with_clip(clip.limit * factor) if any(o.is_missing for o in outcomes) else None
        if changed is None:
            return
        visit = Visit(f"clip.limit {clip.limit:g} -> {clip.limit * factor:.6g} on both sides", last)
        extent = CoveragePlan("exact", no_visits="one step only")
        with contextlib.ExitStack() as stack:
            left, right = stack.enter_context(changed.legacy_program()), stack.enter_context(changed.modern_program())
            own = stack.enter_context(measurement(changed, specs, extent))
            for program in (left, right):
                program.load(last)
            found = verify(left, right, changed.job, 1, observers=Observers(_OneVisit(own, visit)))
            shown = [(o, there) for o, there in zip(outcomes, _clipping_outcomes(own)) if o.is_missing and there.seen]
        if found.passed and shown:
            verification.visits.append(visit.name)
            for outcome, there in shown:
                outcome.seen, outcome.place, outcome.stage = True, visit.name, there.stage


def _clipping_outcomes(coverage: Measurement) -> list[MutantOutcome]:
    """Returns the outcomes of the mutants of the clipping and of values that it hides, in one order at any limit."""
    return [outcome for outcome in coverage.outcomes if outcome.mutant.choice in (Choice.CLIP, Choice.COMBINE)]


def _visits(constant: GraphConstant, value: np.ndarray, last: State, phases: int) -> Iterator[Visit]:
    """Yields the last state once for each train op, named after the bound."""
    own, other = (float(np.ravel(array)[0]) for array in (constant.value, value))
    for phase in range(phases):
        name = f"{place_of(constant.name)} {own:.6g} -> {other:.6g} on both sides"
        yield Visit(name, dataclasses.replace(last, step=last.step + phase))


def _with_bound_in_port(setup: Setup, own: np.ndarray, other: np.ndarray) -> Setup:
    """Returns the setup of a port with a step of its own, which has a number of the old graph as one of its own.

    Args:
      setup: whose left side has another bound.
      own: the bound that the port has.
      other: the one that takes its place.
    """

    def port(made: Setup) -> Program:
        source, bound = made.make_source(made.job), (float(own.item()), float(other.item()))
        return modern.factory.program_with_other_bound(made.job, source, made.modern, made.devices(), bound)

    return dataclasses.replace(setup, port=port)


def _compare(setup: Setup, visit: Visit, coverage: Measurement, verification: Verification) -> None:
    """Compares a step of both sides at another bound.

    The bound of a port's own step is sought among its numbers, by its value. If the two sides differ, the number that
    was found may be no bound, so that the step proves nothing and is left out.

    Args:
      setup: both sides, with another bound.
      visit: the state, and the name of the bound.
      coverage: is shown the step.
      verification: gets the visit, and the difference if there is one.
    """
    kept = _KeptStep()
    with setup.legacy_program() as left, setup.modern_program() as right:
        for program in (left, right):
            program.load(visit.state)
        found = verify(left, right, setup.job, 1, observers=Observers(kept))
    if not found.passed and as_lifted(setup.job.workload).port is not None:
        return
    kept.show(coverage, visit)
    verification.visits.append(visit.name)
    if not found.passed:
        verification.add_failures([found.first] if found.first is not None else [])
        verification.passed, verification.failed_visit = False, visit


class _KeptStep(Tour):
    """Keeps the only step of a comparison, to be shown to a measurement later."""

    def __init__(self) -> None:
        self._steps: list[tuple[State, StepRecord]] = []

    def observe(self, before: State, record: StepRecord, visit: Visit | None) -> None:
        self._steps.append((before, record))

    def visits(self, last: State) -> Iterator[Visit]:
        return iter(())

    def show(self, coverage: Measurement, visit: Visit) -> None:
        """Passes the step on as a visit."""
        for before, record in self._steps:
            coverage.observe(before, record, visit)


class _OneVisit(Tour):
    """Passes the only step of a comparison on to a measurement, as a visit."""

    def __init__(self, coverage: Measurement, visit: Visit) -> None:
        self._coverage, self._visit = coverage, visit

    def observe(self, before: State, record: StepRecord, visit: Visit | None) -> None:
        self._coverage.observe(before, record, self._visit)

    def visits(self, last: State) -> Iterator[Visit]:
        return iter(())
