"""Programs that enter a measurement: float64 judges where bits differ and no noise floor explains it."""

import contextlib

import pytest

from parity.comparison.result import Verification
from parity.comparison.stage_summary import StageSummary
from parity.speed import entrants
from parity.speed.joint_verification import RivalVerification
from tests.parity.speed.fakes import Clock, MadeUpSetup, TimedProgram

#: Results of a comparison.
IDENTICAL, ROUNDED, FAILED = "identical bits", "within the tolerance", "beyond it"


def verification(outcome):
    bits = StageSummary(tensors=1, elements=4, differing_elements=0 if outcome == IDENTICAL else 1)
    return Verification("auto", "locked", 3, outcome != FAILED, {"gradients": bits})


class CountingProgram(TimedProgram):
    """A program whose state is the number of steps that it has taken."""

    def __init__(self, seconds):
        super().__init__(Clock(), seconds)
        self.steps = 0

    def state(self):
        return self.steps

    def load(self, state):
        self.steps = state


class CountingSetup(MadeUpSetup):
    """A setup of such programs."""

    def legacy_program(self):
        return CountingProgram(1.0)

    modern_program = legacy_program


@pytest.fixture
def asked(monkeypatch):
    """{"references": whether each comparison had any, "results": its results, taken from the front; then ROUNDED;
    "starts": the states of the programs compared}."""
    calls = {"references": [], "results": [], "starts": []}

    def verify(left, rivals, job, steps, references, progress):
        calls["references"].append(references is not None)
        outcome = calls["results"].pop(0) if calls["results"] else ROUNDED
        programs = [left, *(rival.program for rival in rivals)]
        calls["starts"].append([program.state() for program in programs])
        for program in programs:
            program.load(program.state() + steps)
        floors = [rival.floor or ("floor" if references is not None else None) for rival in rivals]
        return [RivalVerification(verification(outcome), floor) for floor in floors]

    monkeypatch.setattr(entrants, "verify_together", verify)
    monkeypatch.setattr(entrants.one_device, "reason_for_parts", lambda job: "noise is a tower's own")
    make = lambda setup, in_parts, dtype=None: CountingProgram(1.0)  # noqa: E731
    monkeypatch.setattr(entrants.one_device, "one_device_program", make)
    return calls


def enter(comparison):
    with contextlib.ExitStack() as stack:
        return entrants.enter_programs(stack, CountingSetup(Clock(), {"feed": 1.0}), "resident", comparison)


@pytest.mark.parametrize(
    "results, references",
    [
        ([IDENTICAL, IDENTICAL], [False, False]),
        ([ROUNDED, ROUNDED, ROUNDED], [False, True, False]),
        ([FAILED, ROUNDED, ROUNDED], [False, True, False]),
        ([ROUNDED, ROUNDED, FAILED, ROUNDED], [False, True, False, True]),
        ([IDENTICAL, ROUNDED, ROUNDED], [False, False, True]),
    ],
)
def test_float64_judges_where_bits_differ_beyond_a_known_floor(results, references, asked):
    asked["results"] = list(results)
    comparison = entrants.ParityCheck(3, lambda done: None)
    enter(comparison)
    made = enter(comparison)
    assert asked["references"] == references
    assert all(entrant.runner is not None for entrant in made)


def test_the_comparison_in_float64_begins_at_the_initial_values_of_every_side(asked):
    enter(entrants.ParityCheck(3, lambda done: None))
    assert asked["references"] == [False, True]
    assert asked["starts"] == [[0, 0, 0], [0, 0, 0]]


def test_a_difference_that_float64_confirms_is_one(asked):
    asked["results"] = [IDENTICAL, FAILED, FAILED]
    comparison = entrants.ParityCheck(3, lambda done: None)
    enter(comparison)
    legacy, port, lone = enter(comparison)
    assert not port.contestant.verification.passed and lone.runner is None
