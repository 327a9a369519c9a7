"""Report of `parity.faults`: a line for each trial, the summary and the catalogue."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from parity.causes import catalogue, speed

#: Columns of the moving line on a terminal.
TERMINAL_WIDTH = 118


class TrialPrinter:
    """Prints a line for each trial; on a terminal, lines of correct trials overwrite each other."""

    def __call__(self, row: Mapping[str, Any], done: int, total: int) -> None:
        """Prints one trial.

        Args:
          row: the trial, as the JSON report has it.
          done: number of trials done.
          total: number of trials in all.
        """
        correct = row["right"] and row["both_named"] is not False
        line = trial_line(row, done, total)
        if sys.stdout.isatty() and correct:
            sys.stdout.write("\r" + line[:TERMINAL_WIDTH].ljust(TERMINAL_WIDTH))
        else:
            sys.stdout.write(("\r" if sys.stdout.isatty() else "") + line + "\n")
        sys.stdout.flush()


def trial_line(row: Mapping[str, Any], done: int, total: int) -> str:
    """Formats one trial.

    Args:
      row: the trial, as the JSON report has it.
      done: number of trials done.
      total: number of trials in all.

    Returns:
      a line with the faults, the first stage that differs, and the causes that were named.
    """
    correct = row["right"] and row["both_named"] is not False
    named = ", ".join(row["all_named"]) or "-"
    missed = "" if correct else "<-- expected " + " + ".join(row["expected"])
    return (
        f"{done:4d}/{total} {row['workload']:14s} x{row['replicas']} {row['injected']:44s} {row['stage']!s:20s} "
        f"{named} {missed}"
    )


def fault_summary_table(rows: Sequence[Mapping[str, Any]], totals: Mapping[str, float]) -> Table:
    """Returns a table with one row per fault (or pair), over its workloads and numbers of replicas.

    Args:
      rows: the trials.
      totals: the summary; it has "both_named" if pairs were injected.
    """
    table = Table(title="injected faults", title_justify="left")
    for heading in ("injected", "expected", "first stage that differs"):
        table.add_column(heading, overflow="fold")
    pairs = "both_named" in totals
    for heading in ("runs", "detected", "both named" if pairs else "named first", "high confidence"):
        table.add_column(heading, justify="right")
    for name in dict.fromkeys(sorted(row["injected"] for row in rows)):
        of_fault = [row for row in rows if row["injected"] == name]
        table.add_row(
            name,
            " + ".join(of_fault[0]["expected"]),
            ", ".join(sorted({str(row["stage"]) for row in of_fault})),
            str(len(of_fault)),
            str(sum(row["detected"] for row in of_fault)),
            str(sum(bool(row["both_named" if pairs else "right"]) for row in of_fault)),
            str(sum(row["confidence"] == "high" for row in of_fault)),
        )
    return table


def faults_verdict(totals: Mapping[str, float]) -> str:
    """Returns the result of all trials in one sentence."""
    text = "{runs} runs of {faults} faults: detected {detected:.1%}, right cause first {named_first:.1%}"
    if "both_named" in totals:
        text += ", both named {both_named:.1%}"
    return (text + "; a wrong cause first with high confidence: {first_wrong_and_sure}").format(**totals)


def catalogue_table() -> Table:
    """Returns the table of all causes with their pitfall numbers and faults."""
    table = Table(title="causes and the faults that inject them", title_justify="left")
    for heading in ("cause", "pitfall", "stage", "description", "faults"):
        table.add_column(heading, overflow="fold")
    for cause in catalogue.CAUSES + speed.CAUSES:
        table.add_row(cause.id, cause.pitfall, cause.stage, cause.title, ", ".join(f.name for f in cause.faults))
    return table
