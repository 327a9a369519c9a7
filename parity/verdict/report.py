"""Report of a comparison: as text for people, causes first, and as JSON for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console

from parity.comparison.result import Verdict
from parity.comparison.setup import Setup
from parity.diagnosis.context import settings
from parity.reports import verification_tables as tables
from parity.reports import verification_text as text
from parity.reports.coverage_text import coverage_lines
from parity.reports.formatting import print_plain_lines
from parity.verdict.compare_programs import Comparison
from workloads.job import Job
from workloads.lifted.workload import as_lifted
from workloads.program import Program
from workloads.support.machine import environment
from workloads.support.wording import counted

if TYPE_CHECKING:
    from parity.verdict.explanation import Explanation

#: {verdict: its style}.
STYLES = {Verdict.PARITY: "bold green", Verdict.NO_PARITY: "bold red", Verdict.NOT_SHOWN: "bold yellow"}


def headline(job: Job, mode: str) -> str:
    """Returns the line above the tables: the job's sizes and the mode of the comparison."""
    return (
        f"{job.workload.name}: {counted(job.replicas, 'replica')}, global batch {job.global_batch} "
        f"({job.per_replica_batch} per replica), {_dtypes(job)}, {mode} mode"
    )


def _dtypes(job: Job) -> str:
    """Returns the dtype of the run; of a lift that is not rewritten, the dtypes of its weights."""
    if not job.workload.is_lifted or job.dtype != "float32":
        return job.dtype
    weights = {one.dtype for one in as_lifted(job.workload).plan.variables if one.role == "weight"}
    return ", ".join(sorted(weights)) or job.dtype


def print_verification(console: Console, setup: Setup, comparison: Comparison, explanation: Explanation | None) -> None:
    """Prints the causes first, where something failed; then tables and verdict.

    Args:
      console: where to print.
      setup: the job.
      comparison: the result.
      explanation: the recognized causes, or None where nothing was to be explained.
    """
    verification, (left, right), coverage, _ = comparison
    if explanation is not None:
        from parity.reports.causes import cause_lines  # takes long to import, and most runs have nothing to explain

        found, evidence, remaining, _ = explanation
        print_plain_lines(console, cause_lines(found, evidence, remaining=remaining))
    console.print(headline(setup.job, verification.mode), style="bold")
    console.print(tables.settings_table(settings.differences(left, right), "legacy", "modern"))
    if verification.stages:
        console.print(tables.stages_table(verification.stages, tables.judged_stages_title(verification)))
    if verification.metrics:
        console.print(tables.metrics_table(verification.metrics))
    if verification.trajectory:
        console.print(tables.stages_table(verification.trajectory, "the free trajectories, reported and not judged"))
    if verification.double:
        console.print(tables.stages_table(verification.double, "both sides in float64, each step from legacy's state"))
    if verification.floor:
        console.print(tables.noise_floor_table(verification.floor))
    for line in text.verification_notes(verification):
        console.print("note: " + line)
    if coverage is not None and verification.passed:
        print_plain_lines(console, coverage_lines(coverage.outcomes, verification.visits, coverage.no_visits))
    print_verdict(console, text.verification_verdict(verification), verification.verdict)


def print_verdict(console: Console, line: str, verdict: Verdict) -> None:
    """Prints the last line of a report.

    Args:
      console: where to print.
      line: the line.
      verdict: decides the colour.
    """
    console.print(line, style=STYLES[verdict], highlight=False)


def verification_html(setup: Setup, comparison: Comparison, content: dict[str, Any]) -> str:
    """Returns the result as an HTML page, with pictures.

    Args:
      setup: the job.
      comparison: the result, with its history.
      content: the same as `verification_json`.

    Returns:
      the document.
    """
    from parity.comparison.history import History
    from parity.html.verification_page import verification_page

    verification = comparison.verification
    verdict = text.verification_verdict(verification)
    return verification_page(headline(setup.job, verification.mode), verdict, content, comparison.history or History())


def verification_json(
    setup: Setup, comparison: Comparison, left: Program | None, explanation: Explanation | None
) -> dict[str, Any]:
    """Returns the whole result for `--json`.

    Args:
      setup: the job.
      comparison: the result.
      left: the recording of the towers, whose environment is reported; None if they ran here.
      explanation: the recognized causes, or None where nothing was to be explained.

    Returns:
      {key: value} of numbers, texts, lists and dictionaries.
    """
    verification, (legacy, modern), coverage, _ = comparison
    causes: dict[str, Any] = {"causes": []}
    if explanation is not None:
        from parity.reports.causes import causes_json

        causes = causes_json(*explanation[:3])
    return {
        "workload": setup.job.workload.name,
        "job": setup.job.describe(),
        **verification.to_json(),
        "coverage": [] if coverage is None else [outcome.to_json() for outcome in coverage.outcomes],
        **causes,
        "settings": {
            "legacy": legacy,
            "modern": modern,
            "differences": settings.differences(legacy, modern),
        },
        "environment": environment.describe(),
        "legacy_environment": getattr(left, "manifest", {}).get("environment", environment.describe()),
    }
