"""The search for causes that explain every stage, on made-up ports: a port is the sum of the changes injected in it."""

import dataclasses

import numpy as np
import pytest

from parity.causes import catalogue
from parity.causes.basics.cause import HIGH, LOW, MEDIUM, Cause, Finding, RecognizedCause
from parity.causes.basics.injection import Change
from parity.confirmation import conclusions, confirm, injections
from parity.diagnosis.context.job_context import Context
from tests.cases import Dyadic, setup
from tests.parity.step_records import compared_step, made_up_evidence, made_up_state, step_record


def cause(name, loss=0.0, rate=0.0, injectable=True, **fields):
    """A recognized cause that adds to the injected port's losses and learning rates."""
    change = Change(options=((name, (loss, rate)),))
    made = Cause(name, "loss", "", "", "", "", lambda evidence: None, change=lambda finding, setup: change)
    made = made if injectable else dataclasses.replace(made, change=None)
    return RecognizedCause(made, Finding(f"{name} it is.", **{"confidence": HIGH, "because": "a fit", **fields}))


class MadeUpPort:
    """A port with losses 1 and learning rates 1, to which the injected changes add."""

    built = []

    def __init__(self, setup, changes, start, dtype=None):
        self._added = [value for change in changes for _, value in change.options]
        self.setup, self.first_state = setup, start
        MadeUpPort.built.append((len(changes), dtype))

    def take_steps(self, steps, given):
        loss, rate = (1 + sum(column) for column in zip((0, 0), *self._added))
        return [step_record(s.record.step, [loss], learning_rate=rate, state=s.record.state) for s in steps]

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        pass


@pytest.fixture(autouse=True)
def ports(monkeypatch):
    """Ports are made up, and a diagnosis of what remains finds nothing; returns the list of the ports."""
    MadeUpPort.built = []
    monkeypatch.setattr(injections, "InjectedPort", MadeUpPort)
    monkeypatch.setattr(catalogue, "recognize_causes", lambda evidence: [])
    monkeypatch.setattr(confirm.job_context, "context_of_job", lambda job, about: Context())
    return MadeUpPort.built


def evidence(loss=1.0, rate=1.0, legacy=1.0):
    """Three steps of a user's port with this loss and learning rate."""
    steps = [
        compared_step(
            step_record(step, [legacy], learning_rate=1.0),
            step_record(step, [loss], learning_rate=rate),
            made_up_state(step=step),
        )
        for step in range(3)
    ]
    return made_up_evidence(steps)


def explained(seen, *causes):
    return confirm.confirm_causes(setup(Dyadic()), seen, causes)


def outcome(result):
    return {
        entry.id: (entry.finding.confidence, entry.confirmation.confirmed if entry.confirmation else None)
        for entry in result.recognized
    }


def test_a_cause_that_explains_everything_is_confirmed_with_one_port(ports):
    result = explained(evidence(loss=3.0), cause("A", loss=2.0, confidence=MEDIUM))
    assert outcome(result) == {"A": (HIGH, True)} and result.remaining == ()
    assert len(ports) == 1
    assert result.recognized[0].confirmation.steps == 3


def test_a_cause_with_a_double_stays_medium():
    result = explained(evidence(loss=3.0), cause("A", loss=2.0, ambiguous=True))
    assert outcome(result) == {"A": (MEDIUM, True)}


def test_a_cause_that_explains_nothing_is_never_sure():
    result = explained(evidence(rate=2.0), cause("A", loss=2.0))
    assert outcome(result) == {"A": (MEDIUM, False)}
    assert [entry.stage for entry in result.remaining] == ["learning rate"]


def test_the_wrong_constant_is_not_confirmed():
    assert outcome(explained(evidence(loss=3.0), cause("A", loss=1.99))) == {"A": (MEDIUM, False)}


def test_two_causes_are_confirmed_together():
    result = explained(evidence(loss=3.0, rate=2.0), cause("A", loss=2.0), cause("B", rate=1.0))
    assert outcome(result) == {"A": (HIGH, True), "B": (HIGH, True)}
    assert result.recognized[0].confirmation.injected == ("A", "B")


def test_a_cause_that_the_first_one_makes_needless_is_unlikely():
    result = explained(evidence(loss=3.0), cause("A", loss=2.0), cause("B", rate=1.0))
    assert outcome(result) == {"A": (HIGH, True), "B": (LOW, None)}
    assert "not needed: A alone explains every stage" in result.recognized[1].finding.because


def test_of_two_causes_the_one_that_explains_comes_first():
    result = explained(evidence(rate=2.0), cause("A", loss=2.0), cause("B", rate=1.0))
    assert [entry.id for entry in result.recognized] == ["B", "A"]
    assert outcome(result) == {"B": (HIGH, True), "A": (LOW, None)}


def test_a_cause_that_helps_is_kept_and_what_remains_is_named():
    result = explained(evidence(loss=3.0, rate=2.0), cause("A", loss=2.0))
    assert outcome(result) == {"A": (MEDIUM, False)}
    (entry,) = result.recognized
    assert [left.stage for left in entry.confirmation.remaining] == ["learning rate"]


def test_what_remains_is_diagnosed_and_injected_too(monkeypatch):
    second = cause("B", rate=1.0)

    def recognize(seen):
        return [second] if float(seen.steps[0].left.learning_rate) == 1.0 else []

    monkeypatch.setattr(catalogue, "recognize_causes", recognize)
    result = explained(evidence(loss=3.0, rate=2.0), cause("A", loss=2.0))
    assert outcome(result) == {"A": (HIGH, True), "B": (HIGH, True)}


def test_a_better_fit_in_steps_from_the_users_states_takes_the_place_of_the_first(monkeypatch):
    monkeypatch.setattr(catalogue, "recognize_causes", lambda seen: [cause("A", loss=2.0)])
    result = explained(evidence(loss=3.0), cause("A", loss=1.5, because="a poor fit"))
    assert outcome(result) == {"A": (HIGH, True)}
    assert result.recognized[0].finding.because == "a fit"


def test_a_cause_that_cannot_be_injected_is_never_sure():
    result = explained(evidence(loss=3.0), cause("A", injectable=False))
    assert outcome(result) == {"A": (MEDIUM, None)}
    assert [entry.stage for entry in result.remaining] == ["loss"]


def test_a_port_that_is_clean_makes_every_cause_unlikely_unless_legacy_is_not():
    assert outcome(explained(evidence(), cause("A", loss=2.0))) == {"A": (LOW, None)}
    result = explained(evidence(legacy=5.0), cause("A", loss=2.0))
    assert outcome(result) == {"A": (MEDIUM, None)} and result.remaining is None


def test_a_cause_on_legacys_side_is_injected_beside_legacy():
    result = explained(evidence(legacy=5.0), cause("A", loss=4.0, constants={"side": "legacy"}))
    assert outcome(result) == {"A": (HIGH, True)}


def test_a_difference_is_also_measured_by_float64_before_it_counts(ports):
    explained(evidence(loss=3.0), cause("A", loss=1.999))
    assert "float64" in {dtype for _, dtype in ports}
    del ports[:]
    explained(evidence(loss=3.0), cause("A", loss=1.0))  # no rounding makes a third
    assert "float64" not in {dtype for _, dtype in ports}


def test_where_nothing_can_be_injected_the_stage_checks_decide(monkeypatch, ports):
    monkeypatch.setattr(confirm, "can_be_injected", lambda setup: False)
    monkeypatch.setattr(conclusions, "unexplained_deviations", lambda evidence, recognized: ["a deviation"])
    result = explained(evidence(loss=3.0), cause("A", loss=2.0))
    assert outcome(result) == {"A": (MEDIUM, None)} and result.remaining is None and not ports
    monkeypatch.setattr(conclusions, "unexplained_deviations", lambda evidence, recognized: [])
    assert outcome(explained(evidence(loss=3.0), cause("A", loss=2.0))) == {"A": (HIGH, None)}


def rounding():
    """The cause that says that rounding is all that differs."""
    entry = cause("ROUNDING")
    return dataclasses.replace(entry, cause=dataclasses.replace(entry.cause, bug=False, last=True))


def test_rounding_is_confirmed_by_the_clean_port_and_refuted_by_whatever_remains():
    assert outcome(explained(evidence(), rounding())) == {"ROUNDING": (HIGH, True)}
    result = explained(evidence(rate=2.0), rounding())
    assert result.recognized == [] and result.remaining


def test_a_confined_cause_is_injected_in_its_steps_only(ports):
    steps = evidence(loss=1.0).steps
    steps[1].right.losses = [np.float32(3.0)]
    seen = made_up_evidence(steps)
    confined = cause("A", loss=2.0, steps=(1,), confined=True)
    assert outcome(explained(seen, confined)) == {"A": (HIGH, True)}
    assert outcome(explained(seen, cause("A", loss=2.0, steps=(1,)))) == {"A": (MEDIUM, False)}
    assert outcome(explained(seen, cause("A", loss=2.0, steps=(2,), confined=True))) == {"A": (MEDIUM, False)}
