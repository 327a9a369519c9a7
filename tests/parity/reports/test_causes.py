"""Lines and JSON of made-up causes."""

import dataclasses

import pytest

from parity.causes.basics.cause import HIGH, Cause, Finding, RecognizedCause
from parity.causes.basics.confirmation import Confirmation, Remainder
from parity.diagnosis import summary
from parity.diagnosis.deviations import Deviations
from parity.diagnosis.stage_checks.deviation import Deviation
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
    assert lines[4] == "ALSO OTHER: the loss is 2 x as large. No bug: both sides compute the same in different terms."
    assert len(lines) == 9


def test_facts_of_rewritten_steps_say_so():
    evidence = made_up_evidence()
    evidence.converted = ("LOSS_SHARE",)
    lines = list(cause_lines([RecognizedCause(CAUSE, FINDING)], evidence))
    assert lines[-1] == "facts, of the port's steps in legacy's terms: one fact; another"


def test_without_a_cause_the_facts_are_shown():
    assert list(cause_lines([], made_up_evidence())) == ["NO KNOWN CAUSE: one fact; another"]


def test_equal_runs_need_no_cause():
    assert list(cause_lines([], made_up_evidence(), differs=False)) == ["NOTHING DIFFERS: 1 step"]


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


def injected(*remaining, causes=("LOSS_NOT_DIVIDED",)):
    return Confirmation(10, ("loss",), 2.5, remaining, causes)


LEFT_OVER = Remainder("slots", "w/momentum", 3, 1234.0)


def test_a_confirmed_cause_says_so():
    lines = list(cause_lines([RecognizedCause(CAUSE, FINDING, injected())], made_up_evidence()))
    assert lines[3] == ("  confirmed: injected into the clean port, every stage of 10 steps agrees to 2.5 roundings")


def test_a_cause_that_leaves_something_over_names_it():
    confirmation = injected(LEFT_OVER, causes=("LOSS_NOT_DIVIDED", "OTHER"))
    entry = RecognizedCause(CAUSE, FINDING, confirmation)
    lines = list(cause_lines([entry], made_up_evidence(), remaining=(LEFT_OVER,)))
    left_over = "slots (w/momentum) by 1.23e+03 roundings, first at step 3"
    assert lines[3] == f"  not confirmed: injected into the clean port together with OTHER, it leaves {left_over}"
    assert lines[-2] == f"unexplained: beside a clean port from the same states, {left_over}"
    written = causes_json([entry], made_up_evidence(), (LEFT_OVER,))
    expected = [{"stage": "slots", "variable": "w/momentum", "step": 3, "roundings": 1234.0}]
    assert written["remaining"] == written["causes"][0]["remaining"] == expected
    assert written["causes"][0]["confirmed"] is False


def test_what_no_cause_explains_is_named_without_a_cause_too():
    lines = list(cause_lines([], made_up_evidence(), remaining=(LEFT_OVER,)))
    assert [line.split(":")[0] for line in lines] == ["NO KNOWN CAUSE", "unexplained"]
    assert len(list(cause_lines([], made_up_evidence(), remaining=()))) == 1


def found(*roundings, **fields):
    """Deviations of weights "w0", "w1", ... from step 1 on."""
    made = [
        Deviation("weights", f"w{number}", (1, 2), (0, 1, 2), size, "does not change")
        for number, size in enumerate(roundings)
    ]
    return {"deviations": Deviations(made, [], fields.get("unjudged", []), [])}


def test_an_unknown_cause_is_localised():
    lines = list(cause_lines([], made_up_evidence(**found(4.0, 9.0, 5.0, 6.0, unjudged=["slots"]))))
    assert lines == [
        "NO KNOWN CAUSE: one fact; another",
        "NO PARITY, cause not known: localised to weights of w0, w1, w2 and 1 more, from step 1 on (2 of 3 steps)",
        "  unexplained: weights, w1 from step 1 on (2 of 3 steps), 9 roundings: does not change (and 3 more)",
        "  not judged, since their inputs are not recorded: slots",
    ]


def test_a_known_cause_does_not_hide_another():
    evidence = made_up_evidence(**found(4.0))
    lines = list(cause_lines([RecognizedCause(CAUSE, FINDING)], evidence))
    assert lines[4].startswith("ALSO, cause not known: localised to weights of w0")
    assert causes_json([RecognizedCause(CAUSE, FINDING)], evidence)["unexplained"][0]["variable"] == "w0"
