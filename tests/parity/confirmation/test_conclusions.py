"""Confidence that follows from injecting a cause."""

import dataclasses

import pytest

from parity.causes.basics.cause import HIGH, LOW, MEDIUM, Cause, Finding, RecognizedCause
from parity.causes.basics.confirmation import Confirmation, Remainder
from parity.confirmation import conclusions

CONFIRMED = Confirmation(4, ("loss", "weights"), 1.0, (), ("A",))
REMAINS = CONFIRMED._replace(remaining=(Remainder("weights", "w", 3, 99.0),))


def entry(confidence=HIGH, name="A", **of_cause):
    cause = Cause(name, "loss", "", "", "", "", lambda evidence: None, **of_cause)
    return RecognizedCause(cause, Finding("It is A.", confidence, "a fit"))


@pytest.mark.parametrize("before", [HIGH, MEDIUM, LOW])
def test_an_injection_that_explains_every_stage_gives_high_confidence(before):
    found = conclusions.with_confirmation(entry(before), CONFIRMED)
    assert found.finding.confidence == HIGH and found.confirmation is CONFIRMED


def test_a_cause_that_another_explains_as_well_stays_medium():
    made = entry()
    ambiguous = dataclasses.replace(made, finding=dataclasses.replace(made.finding, ambiguous=True))
    assert conclusions.with_confirmation(ambiguous, CONFIRMED).finding.confidence == MEDIUM


@pytest.mark.parametrize("before, after", [(HIGH, MEDIUM), (MEDIUM, MEDIUM), (LOW, LOW)])
def test_what_remains_unexplained_takes_high_confidence_away(before, after):
    assert conclusions.with_confirmation(entry(before), REMAINS).finding.confidence == after
    assert conclusions.unconfirmed(entry(before), None).finding.confidence == after


def test_an_unneeded_cause_names_those_that_explain_every_stage():
    found = conclusions.unneeded(entry(), [entry(name="B"), entry(name="C")]).finding
    assert found.confidence == LOW and "not needed: B, C alone" in found.because


@pytest.mark.parametrize("confirmation, refuted", [(None, True), (REMAINS, True), (CONFIRMED, False)])
def test_rounding_that_does_not_explain_the_run_is_refuted(confirmation, refuted):
    rounding = dataclasses.replace(entry(last=True, bug=False), confirmation=confirmation)
    assert conclusions.is_refuted(rounding) == refuted
    assert not conclusions.is_refuted(dataclasses.replace(entry(), confirmation=confirmation))


def test_confirmed_causes_stand_first():
    confirmed = dataclasses.replace(entry(LOW, "ADAM_EPS"), confirmation=CONFIRMED)
    assert conclusions.place_in_report(confirmed) < conclusions.place_in_report(entry(HIGH, "DATA_ORDER"))
