"""Visits of a comparison: both sides step from them, a difference ends them, and the result names them."""

import dataclasses

import numpy as np
import pytest

from parity.comparison.result import Verdict
from parity.comparison.runs.options import Criterion, Observers
from parity.comparison.runs.verification import verify
from parity.comparison.tour import Tour, Visit
from tests.cases import Dyadic, setup
from workloads import schedules
from workloads.support.errors import OpFailed


class Jumps(Tour):
    """A tour to steps of choice that notes what it observes."""

    def __init__(self, *steps):
        self._steps, self.observed = steps, []

    def observe(self, before, record, visit):
        self.observed.append((before.step, record.step, visit and visit.name))

    def visits(self, last):
        for step in self._steps:
            yield Visit(f"to {step}", dataclasses.replace(last, step=step))


def late(workload):
    """The same workload, whose learning rate drops one step late."""
    return dataclasses.replace(workload, learning_rate=schedules.PiecewiseConstant((41,), (0.125, 0.25)))


WORKLOAD = dataclasses.replace(Dyadic(), learning_rate=schedules.PiecewiseConstant((40,), (0.125, 0.25)))


def compared(tour, port=lambda workload: workload, mode="free"):
    made, other = setup(WORKLOAD), setup(port(WORKLOAD))
    with made.legacy_program() as left, other.modern_program() as right:
        return verify(left, right, made.job, 2, Criterion(mode), observers=Observers(tour=tour))


@pytest.mark.parametrize("mode", ["free", "locked"])
def test_both_sides_step_from_each_visit(mode):
    tour = Jumps(40, 41, 7)
    result = compared(tour, mode=mode)
    assert result.verdict is Verdict.PARITY and result.visits == ["to 40", "to 41", "to 7"]
    assert tour.observed == [(0, 0, None), (1, 1, None), (40, 40, "to 40"), (41, 41, "to 41"), (7, 7, "to 7")]


def test_a_difference_in_a_visit_ends_parity_and_the_tour():
    result = compared(Jumps(40, 41, 42), late)
    assert result.verdict is Verdict.NO_PARITY and result.first.step == 41
    assert result.failed_visit.name == "to 41" and result.visits == ["to 40", "to 41"]
    assert compared(None, late).verdict is Verdict.PARITY  # the two steps alone say nothing


class Overflow(Jumps):
    """A tour to weights whose step overflows, and to weights that are a little larger."""

    def __init__(self, may_overflow):
        super().__init__()
        self._may_overflow = may_overflow

    def visits(self, last):
        for factor in (2.0**127, 2.0):
            weights = {name: np.float32(value * factor) for name, value in last.weights.items()}
            state = dataclasses.replace(last, weights=weights)
            yield Visit(f"times {factor:g}", state, may_overflow=self._may_overflow)


@pytest.mark.parametrize(
    "may_overflow, tolerance_name, compared_visits", [(True, "auto", 1), (False, "auto", 2), (True, "exact", 2)]
)
def test_a_visit_that_may_overflow_is_compared_under_exact_alone(may_overflow, tolerance_name, compared_visits):
    made, tour = setup(WORKLOAD), Overflow(may_overflow)
    with made.legacy_program() as left, made.modern_program() as right:
        criterion = Criterion("locked", tolerance_name)
        result = verify(left, right, made.job, 2, criterion, observers=Observers(tour=tour))
    assert result.visits == [f"times {2.0**127:g}", "times 2"][-compared_visits:]
    assert len(tour.observed) == 2 + compared_visits


class Refusing:
    """A program with an op that does not run with overflowed weights, as a gather at an index that is made of NaN."""

    def __init__(self, program):
        self._program, self._weights = program, {}

    def __getattr__(self, name):
        return getattr(self._program, name)

    def load(self, state):
        self._weights = state.weights
        self._program.load(state)

    def step(self):
        if any(np.abs(value).max() > 2.0**100 for value in self._weights.values()):
            raise OpFailed("--workload: indices[0] = -2147483630 is not in [0, 648)")
        return self._program.step()


@pytest.mark.parametrize("may_overflow", [True, False])
def test_a_visit_whose_numbers_an_op_of_the_left_side_refuses_shows_nothing(may_overflow):
    made, tour = setup(WORKLOAD), Overflow(may_overflow)
    with made.legacy_program() as left, made.modern_program() as right:
        observers = Observers(tour=tour)
        result = verify(Refusing(left), right, made.job, 2, Criterion("locked", "exact"), observers=observers)
    assert result.visits == ["times 2"] and result.verdict is Verdict.PARITY


def test_a_visit_that_only_the_port_refuses_is_no_parity_and_no_silence():
    made, tour = setup(WORKLOAD), Overflow(True)
    with made.legacy_program() as left, made.modern_program() as right, pytest.raises(OpFailed):
        verify(left, Refusing(right), made.job, 2, Criterion("locked", "exact"), observers=Observers(tour=tour))


class Underflowing:
    """A program whose gradients are of one tiny number in visits, as where factors have underflowed."""

    def __init__(self, program, tiny):
        self._program, self._tiny, self._visits = program, tiny, False

    def __getattr__(self, name):
        return getattr(self._program, name)

    def load(self, state):
        self._visits = not any(value.any() for value in state.weights.values())
        self._program.load(state)

    def step(self):
        record = self._program.step()
        tiny = [{name: np.full_like(g, self._tiny) for name, g in own.items()} for own in record.gradients]
        return dataclasses.replace(record, gradients=tiny) if self._visits else record


class Zeros(Jumps):
    """A tour to weights of zeros."""

    def __init__(self, may_underflow):
        super().__init__()
        self._may_underflow = may_underflow

    def visits(self, last):
        zeros = {name: np.zeros_like(value) for name, value in last.weights.items()}
        yield Visit("zeros", dataclasses.replace(last, weights=zeros), may_underflow=self._may_underflow)


@pytest.mark.parametrize("may_underflow, verdict", [(True, Verdict.PARITY), (False, Verdict.NO_PARITY)])
def test_a_visit_that_may_underflow_is_left_out_where_nothing_else_differs(may_underflow, verdict):
    made = setup(WORKLOAD)
    with made.legacy_program() as left, made.modern_program() as right:
        sides = Underflowing(left, 2.0**-110), Underflowing(right, 2.0**-111)
        observers = Observers(tour=Zeros(may_underflow))
        result = verify(*sides, made.job, 2, Criterion("locked", "exact"), observers=observers)
    assert result.verdict is verdict and result.visits == ([] if may_underflow else ["zeros"])


def test_nothing_is_visited_after_a_failure():
    result = compared(Jumps(40), lambda workload: dataclasses.replace(workload, learning_rate=schedules.Fixed(1.0)))
    assert result.verdict is Verdict.NO_PARITY and result.visits == [] and result.failed_visit is None


@pytest.mark.parametrize("verdict, status", [(Verdict.PARITY, 0), (Verdict.NO_PARITY, 1), (Verdict.NOT_SHOWN, 3)])
def test_each_verdict_has_its_exit_status(verdict, status):
    assert verdict.exit_status == status
