"""Lines and tables of made-up trials."""

import pytest

from parity.causes import catalogue, speed
from parity.reports import faults
from tests.parity.reports.rendering import headings, rows

CORRECT = {
    "injected": "sum_for_mean",
    "expected": ["LOSS_NOT_DIVIDED"],
    "workload": "regression",
    "replicas": 2,
    "detected": True,
    "stage": "gradients",
    "confidence": "high",
    "right": True,
    "all_named": ["LOSS_NOT_DIVIDED"],
    "both_named": None,
}
WRONG = {**CORRECT, "right": False, "all_named": [], "confidence": None, "replicas": 4, "stage": "loss"}


def test_a_correct_trial():
    line = faults.trial_line(CORRECT, 3, 12)
    assert line.startswith("   3/12 regression     x2 sum_for_mean ")
    assert line.endswith(" gradients            LOSS_NOT_DIVIDED ")


@pytest.mark.parametrize("changes", [{"right": False}, {"both_named": False}])
def test_a_wrong_trial_names_what_was_expected(changes):
    assert faults.trial_line({**CORRECT, **changes}, 3, 12).endswith("LOSS_NOT_DIVIDED <-- expected LOSS_NOT_DIVIDED")


def test_nothing_named_is_a_dash():
    assert " - <-- expected LOSS_NOT_DIVIDED" in faults.trial_line(WRONG, 1, 1)


def test_every_trial_has_a_line_of_its_own_in_a_file(capsys):
    show = faults.TrialPrinter()
    show(CORRECT, 1, 2)
    show(WRONG, 2, 2)
    lines = [faults.trial_line(CORRECT, 1, 2), faults.trial_line(WRONG, 2, 2)]
    assert capsys.readouterr().out == "".join(line + "\n" for line in lines)


def test_correct_trials_overwrite_each_other_on_a_terminal(capsys, monkeypatch):
    show = faults.TrialPrinter()
    monkeypatch.setattr(faults.sys.stdout, "isatty", lambda: True)
    show(CORRECT, 1, 2)
    first = capsys.readouterr().out
    assert first.startswith("\r   1/2") and len(first) == 1 + faults.TERMINAL_WIDTH and "\n" not in first
    show(WRONG, 2, 2)
    assert capsys.readouterr().out == "\r" + faults.trial_line(WRONG, 2, 2) + "\n"


def test_a_row_per_fault():
    other = {**CORRECT, "injected": "another"}
    table = faults.fault_summary_table([CORRECT, other, WRONG], {})
    assert headings(table)[2:] == ["first stage that differs", "runs", "detected", "named first", "high confidence"]
    assert rows(table) == [
        ("another", "LOSS_NOT_DIVIDED", "gradients", "1", "1", "1", "1"),
        ("sum_for_mean", "LOSS_NOT_DIVIDED", "gradients, loss", "2", "2", "1", "1"),
    ]


def test_pairs_count_runs_in_which_both_are_named():
    pair = {**CORRECT, "injected": "a + b", "expected": ["A", "B"], "both_named": True}
    table = faults.fault_summary_table([pair, {**pair, "both_named": False}], {"both_named": 0.5})
    assert headings(table)[5] == "both named"
    assert rows(table) == [("a + b", "A + B", "gradients", "2", "2", "1", "2")]


def test_the_verdict_is_a_sentence():
    totals = {"runs": 4, "faults": 2, "detected": 1.0, "named_first": 0.75, "first_wrong_and_sure": 1}
    text = "4 runs of 2 faults: detected 100.0%, right cause first 75.0%"
    last = "; a wrong cause first with high confidence: 1"
    assert faults.faults_verdict(totals) == text + last
    assert faults.faults_verdict({**totals, "both_named": 0.5}) == text + ", both named 50.0%" + last


def test_the_catalogue_has_a_row_per_cause():
    listed = rows(faults.catalogue_table())
    causes = catalogue.CAUSES + speed.CAUSES
    assert [row[0] for row in listed] == [cause.id for cause in causes]
    assert listed[-1][4] == ", ".join(fault.name for fault in causes[-1].faults)
