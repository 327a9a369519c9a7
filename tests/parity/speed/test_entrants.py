"""Programs that enter a measurement: those of the second input are judged by the first one's noise floors."""

import contextlib

import pytest

from parity.comparison.result import Verification
from parity.speed import entrants
from parity.speed.joint_verification import Outcome
from tests.parity.speed.fakes import Clock, MadeUpSetup, TimedProgram


@pytest.fixture
def asked(monkeypatch):
    """Whether each comparison had references; results are taken from "results", and are passes afterwards."""
    calls = {"references": [], "results": []}

    def verify(left, rivals, job, steps, references, progress):
        calls["references"].append(references is not None)
        passed = calls["results"].pop(0) if calls["results"] else True
        return [Outcome(Verification("auto", "locked", steps, passed), "floor") for _ in rivals]

    monkeypatch.setattr(entrants, "verify_together", verify)
    monkeypatch.setattr(entrants.one_device, "reason_for_parts", lambda job: "noise is a tower's own")
    make = lambda setup, in_parts, dtype=None: TimedProgram(setup.clock, 1.0)  # noqa: E731
    monkeypatch.setattr(entrants.one_device, "one_device_program", make)
    return calls


def enter(comparison):
    with contextlib.ExitStack() as stack:
        return entrants.enter_programs(stack, MadeUpSetup(Clock(), {"feed": 1.0}), "resident", comparison)


@pytest.mark.parametrize(
    "results, references", [([True, True], [True, False]), ([True, False, True], [True, False, True])]
)
def test_the_second_input_is_judged_in_float64_only_if_something_differs(results, references, asked):
    asked["results"] = results
    comparison = entrants.Comparison(3, lambda done: None)
    enter(comparison)
    made = enter(comparison)
    assert asked["references"] == references
    assert all(entrant.runner is not None for entrant in made)


def test_a_difference_that_float64_confirms_is_one(asked):
    asked["results"] = [True, False, False]
    comparison = entrants.Comparison(3, lambda done: None)
    enter(comparison)
    legacy, port, lone = enter(comparison)
    assert not port.contestant.verification.passed and lone.runner is None
