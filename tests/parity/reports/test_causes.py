"""Lines and JSON of made-up causes."""

import dataclasses

import pytest

from parity.causes.cause import HIGH, Cause, Finding, RecognizedCause
from parity.diagnosis import summary
from parity.reports.causes import cause_lines, causes_json, job_difference_lines
from tests.parity.step_records import made_up_evidence

CAUSE = Cause("LOSS_NOT_DIVIDED", "loss", "a title", "a signature", "a reason", "divide it", lambda evidence: None)
FINDING = Finding("the loss is 2 x as large.", HIGH, "a clean fit")


@pytest.fixture(autouse=True)
def facts(monkeypatch):
    """The evidence's summary: two facts."""
    monkeypatch.setattr(summary, "summarize_facts", lambda evidence: ["one fact", "another"])


def test_a_cause_is_a_paragraph():
    assert list(cause_lines([RecognizedCause(CAUSE, FINDING)], made_up_evidence())) == [
        "LOSS_NOT_DIVIDED: the loss is 2 x as large.",
        "  fix: divide it",
        "  confidence: high (a clean fit)",
        "  more: docs/causes.md#loss_not_divided",
        "facts: one fact; another",
    ]


def test_further_causes_are_marked_and_so_is_what_is_no_bug():
    harmless = RecognizedCause(dataclasses.replace(CAUSE, id="OTHER", bug=False), FINDING)
    lines = list(cause_lines([RecognizedCause(CAUSE, FINDING), harmless], made_up_evidence()))
    assert lines[4] == "ALSO OTHER: the loss is 2 x as large. No bug: both sides do the same."
    assert len(lines) == 9


def test_without_a_cause_the_facts_are_shown():
    assert list(cause_lines([], made_up_evidence())) == ["NO KNOWN CAUSE: one fact; another"]


def test_equal_runs_need_no_cause():
    assert list(cause_lines([], made_up_evidence(), differs=False)) == ["NOTHING DIFFERS: 1 steps"]


def test_a_cause_is_shown_even_if_no_bit_differs():
    lines = list(cause_lines([RecognizedCause(CAUSE, FINDING)], made_up_evidence(), differs=False))
    assert lines[0].startswith("LOSS_NOT_DIVIDED: ")


def test_fields_that_both_jobs_name_and_that_differ():
    left = {"job": {"seed": "0", "dtype": "float32", "only_left": "1"}}
    right = {"job": {"seed": "1", "dtype": "float32", "only_right": "1"}}
    assert list(job_difference_lines(left, right)) == ["the recordings' jobs differ in seed: 0 | 1"]
    assert list(job_difference_lines({}, right)) == []


def test_json_has_the_causes_and_the_facts():
    content = causes_json([RecognizedCause(CAUSE, FINDING)], made_up_evidence())
    assert content["facts"] == ["one fact", "another"]
    assert [entry["cause"] for entry in content["causes"]] == ["LOSS_NOT_DIVIDED"]
