import pytest

from parity.causes import catalogue
from parity.comparison.setup import Setup
from parity.confirmation.confirm import Explained
from parity.diagnosis import collect
from parity.fault_injection import trial
from parity.fault_injection.injected_faults import InjectedFaults
from tests.cases import Dyadic
from tests.parity.fault_injection.made_up_faults import recognized_cause
from tests.parity.step_records import MadeUpProgram, made_up_state, step_record

STEPS = collect.FREE + collect.LOCKED


def made_up_program(loss=1.0):
    """A program that reports one loss in every step."""
    records = [step_record(step, [loss], state=made_up_state(step=step + 1)) for step in range(2 * STEPS)]
    return MadeUpProgram(records)


def injected(loss=2.0, side="modern", start=0, combine="mean"):
    """A fault that makes the faulty side report another loss; `starts` lists the states that it was given."""
    starts = []

    def inject(setup, state=None):
        starts.append(state)
        return made_up_program(loss)

    return InjectedFaults(("a",), ("A",), (("A",),), Dyadic(combine=combine), "base", 2, inject, side, start), starts


@pytest.fixture
def built(monkeypatch):
    """Healthy programs report a loss of 1; the list of those that were built, "legacy" or "modern"."""
    sides = []

    def build(side):
        def program(self):
            sides.append((side, self.job.dtype, self.job.seed))
            return made_up_program()

        return program

    monkeypatch.setattr(Setup, "legacy_program", build("legacy"))
    monkeypatch.setattr(Setup, "modern_program", build("modern"))
    return sides


@pytest.fixture
def seen(monkeypatch):
    """Every run is recognized as cause A; the list of the evidence."""
    evidence = []
    monkeypatch.setattr(catalogue, "recognize_causes", lambda one: evidence.append(one) or [recognized_cause("A")])
    return evidence


def test_a_fault_of_the_port_is_compared_with_legacy(built, seen):
    row = trial.Trials("float64", 5, confirm=False).run(injected()[0])
    assert (row["detected"], row["stage"], row["named"], row["right"]) == (True, "loss", "A", True)
    assert built == [("legacy", "float64", 5)]
    assert len(seen[0].steps) == STEPS
    assert {(float(step.left.losses[0]), float(step.right.losses[0])) for step in seen[0].steps} == {(1.0, 2.0)}
    assert seen[0].context.replicas == 2


def test_a_fault_of_the_towers_is_compared_with_the_healthy_port(built, seen):
    row = trial.Trials(confirm=False).run(injected(side="legacy")[0])
    assert row["detected"]
    assert built == [("modern", "float32", 0)]
    assert {(float(step.left.losses[0]), float(step.right.losses[0])) for step in seen[0].steps} == {(2.0, 1.0)}


def test_a_fault_without_an_effect_is_not_detected(built, seen):
    row = trial.Trials(confirm=False).run(injected(loss=1.0)[0])
    assert (row["detected"], row["stage"]) == (False, None)


def test_legacy_runs_once_for_each_job_and_start(built, seen):
    trials = trial.Trials(confirm=False)
    for fault, _ in (injected(), injected(3.0), injected(start=1), injected(start=1)):
        trials.run(fault)
    assert [side for side, _, _ in built] == ["legacy"] * 2
    trials.run(injected(combine="sum")[0])
    assert [side for side, _, _ in built] == ["legacy"] * 3
    assert [float(one.steps[0].left.losses[0]) for one in seen] == [1.0] * 5
    assert [one.steps[0].left.step for one in seen] == [0, 0, 1, 1, 0]


def test_a_fault_starts_from_the_state_that_legacy_has_trained(built, seen):
    fault, starts = injected(start=3)
    trial.Trials(confirm=False).run(fault)
    assert [state.step for state in starts] == [3]
    fault, starts = injected()
    trial.Trials(confirm=False).run(fault)
    assert starts == [None]


def test_causes_of_a_fault_with_an_effect_are_confirmed(built, seen, monkeypatch):
    confirmed = []

    def confirm_causes(setup, evidence, recognized):
        confirmed.append(list(recognized))
        return Explained([recognized_cause("INJECTED", "medium")], None)

    monkeypatch.setattr(trial.confirm, "confirm_causes", confirm_causes)
    assert trial.Trials().run(injected()[0])["all_named"] == ["INJECTED"]
    trial.Trials().run(injected(loss=1.0)[0])
    assert len(confirmed) == 1
