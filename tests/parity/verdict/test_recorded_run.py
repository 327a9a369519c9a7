"""The report of a lift's three comparisons, of results that are made up."""

import pytest
from rich.console import Console

from parity.comparison.difference import Difference
from parity.comparison.result import Failure, Verification
from parity.comparison.runs.three_ways import COLUMNS, ORIGINAL_AND_PORT, ThreeWays
from parity.comparison.stage_summary import StageSummary
from parity.verdict import recorded_run
from tests.cases import Dyadic, setup


def three_ways(passed, missing=()):
    columns = {column: Verification("auto", "locked", 3, stages={"loss": StageSummary()}) for column in COLUMNS}
    columns[ORIGINAL_AND_PORT].passed = passed
    columns[ORIGINAL_AND_PORT].races = ["w at step 1"]
    return ThreeWays(columns, list(missing))


@pytest.mark.parametrize(
    "passed, verdict", [(True, "PARITY with the original: 3 steps"), (False, "NO PARITY with the")]
)
def test_the_report_has_columns_notes_and_a_verdict(passed, verdict):
    console = Console(width=160)
    with console.capture() as capture:
        recorded_run.print_recorded_run(console, three_ways(passed, ["losses of train"]))
    lines = capture.get().splitlines()
    assert lines[-1].startswith(verdict) and lines[-2] == "note: the recording does not hold the losses of train"
    assert any(line.startswith("note: ") and "w at step 1" in line for line in lines)
    assert all(any(column in line for line in lines) for column in COLUMNS)


def test_the_verdict_names_the_first_tensor_of_the_original_that_differs():
    result = three_ways(False)
    assert recorded_run.recorded_verdict(result) == "NO PARITY with the original"
    worst = Difference("net/w", index=(0, 1), left=2.0, right=2.5, differing=1, max_abs=0.5, max_rel=0.25)
    result.judged.first = Failure(2, "weights", worst, 1e-6)
    verdict = recorded_run.recorded_verdict(result)
    assert "; first at step 2, stage weights: net/w[0,1] at step 2: 2.0 | 2.5; allowed 1e-06 relative" in verdict
    assert recorded_run.recorded_run_json(setup(Dyadic()), result)["summary"] == verdict
    passing = three_ways(True)
    passing.judged.first = result.judged.first
    assert recorded_run.recorded_verdict(passing).startswith("PARITY with the original: 3 steps, every stage")
    assert "first at" not in recorded_run.recorded_verdict(passing)


def test_json_has_the_judged_comparison_and_all_columns():
    content = recorded_run.recorded_run_json(setup(Dyadic()), three_ways(False, ["losses of train"]))
    assert content["verdict"] == "no parity" and content["races"] == ["w at step 1"]
    assert {name: column["verdict"] for name, column in content["columns"].items()} == {
        COLUMNS[0]: "parity", COLUMNS[1]: "parity", COLUMNS[2]: "no parity",
    }  # fmt: skip
    assert content["not_recorded"] == ["losses of train"] and content["summary"].startswith("NO PARITY")


def test_the_comparison_gets_the_folder_and_reports_each_column(monkeypatch):
    asked, shown = [], []

    def compare(made, folder, steps, tolerance_name, progress):
        asked.append((folder, steps, tolerance_name))
        progress(COLUMNS[0], 1, Verification("auto", "locked", 3))
        return three_ways(True)

    monkeypatch.setattr(recorded_run.three_ways, "compare_three_ways", compare)
    monkeypatch.setattr(recorded_run.Progress, "update", lambda self, *arguments: shown.append(arguments))
    assert recorded_run.verify_recorded_run(setup(Dyadic()), "folder", None, "auto").passed
    assert asked == [("folder", None, "auto")] and shown == [(1, 3, COLUMNS[0])]
