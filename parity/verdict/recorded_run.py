"""Verification of a lift against the recording of its original run: three columns, of which the last is judged."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from parity.comparison.result import Verification
from parity.comparison.runs import three_ways
from parity.comparison.runs.three_ways import ORIGINAL_AND_PORT, ThreeWays
from parity.comparison.setup import Setup
from parity.reports.verification_tables import comparisons_table
from parity.reports.verification_text import failure_place, verification_notes
from parity.verdict import report
from workloads.progress.progress import Progress
from workloads.support.machine import environment


def verify_recorded_run(setup: Setup, folder: str, steps: int | None, tolerance_name: str) -> ThreeWays:
    """Compares a lift with the recording of its original run, and shows the progress on stderr.

    Args:
      setup: the lifted job.
      folder: the recording that the lift's recorder wrote.
      steps: number of steps; None for all that were recorded.
      tolerance_name: "exact" or "auto", for the comparisons with the original.

    Returns:
      the three comparisons.

    Raises:
      InputError: the recording is damaged or of another program, or holds fewer steps.
    """
    progress = Progress("verify " + setup.job.workload.name)

    def show(column: str, done: int, so_far: Verification) -> None:
        progress.update(done, so_far.steps, column)

    result = three_ways.compare_three_ways(setup, folder, steps, tolerance_name, show)
    progress.done()
    return result


def print_recorded_run(console: Console, result: ThreeWays) -> None:
    """Prints the columns side by side, notes about the judged one, and the verdict."""
    console.print(comparisons_table(result.columns))
    for line in verification_notes(result.columns[ORIGINAL_AND_PORT]):
        console.print("note: " + line)
    for missing in result.missing:
        console.print("note: the recording does not hold the " + missing)
    report.print_verdict(console, recorded_verdict(result), result.judged.verdict)


def recorded_verdict(result: ThreeWays) -> str:
    """Returns the verdict in one sentence, with the first tensor of the original beyond its tolerance."""
    place = "" if result.passed else failure_place(result.judged)
    return three_ways.verdict(result) + (f"; {place}" if place else "")


def recorded_run_json(setup: Setup, result: ThreeWays) -> dict[str, Any]:
    """Returns the whole result for `--json`: the judged comparison, and all columns."""
    return {
        "workload": setup.job.workload.name,
        "job": setup.job.describe(),
        **result.columns[ORIGINAL_AND_PORT].to_json(),
        "summary": recorded_verdict(result),
        "columns": {column: verification.to_json() for column, verification in result.columns.items()},
        "not_recorded": result.missing,
        "environment": environment.describe(),
    }
