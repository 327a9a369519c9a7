"""The command `parity.ports`: which causes were named, and its report."""

import pytest
from rich.console import Console

from parity.causes.basics.cause import HIGH, Finding, RecognizedCause
from parity.causes.catalogue import CAUSES
from parity.verdict.explanation import Explanation
from tests.own_flags import own_flags
from tests.parity.step_records import made_up_evidence

with own_flags():
    from parity.ports import __main__ as ports

FIRST, SECOND = CAUSES[:2]


def diagnosis(*expected):
    recognized = [RecognizedCause(cause, Finding("sentence", HIGH, "because")) for cause in (FIRST, SECOND)]
    return ports.PortDiagnosis("some_port", expected, Explanation(recognized, made_up_evidence()))


def test_causes_that_were_not_named_are_missed():
    assert diagnosis(FIRST.id).missed == [] and diagnosis(FIRST.id).named == [FIRST.id, SECOND.id]
    assert diagnosis(FIRST.id, "OTHER").missed == ["OTHER"]


def test_json_has_the_causes_and_the_facts():
    content = diagnosis("OTHER").to_json()
    assert content["port"] == "some_port" and content["missed"] == ["OTHER"] and content["expected"] == ("OTHER",)
    assert [cause["cause"] for cause in content["causes"]] == content["named"] == [FIRST.id, SECOND.id]


@pytest.mark.parametrize("expected, headline", [(FIRST.id, "all named"), ("OTHER", "missed OTHER")])
def test_the_report_begins_with_what_was_missed(expected, headline):
    console = Console(width=200)
    with console.capture() as capture:
        ports.print_diagnosis(console, diagnosis(expected))
    lines = capture.get().splitlines()
    assert lines[0] == f"some_port: {headline}" and lines[1].startswith(f"{FIRST.id}: sentence")
