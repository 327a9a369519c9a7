"""What `parity.faults` prints."""

from __future__ import annotations

import sys

from rich.table import Table


class Lines:
    """Prints a line for each trial; on a terminal the right ones only move a counter."""

    def __call__(self, row, done, total):
        good = row["right"] and (row["both_named"] is not False)
        line = "{:4d}/{} {:14s} x{} {:44s} {:20s} {} {}".format(
            done,
            total,
            row["workload"],
            row["replicas"],
            row["planted"],
            str(row["stage"]),
            ", ".join(row["all_named"]) or "-",
            "" if good else "<-- expected " + " + ".join(row["expected"]),
        )
        if sys.stdout.isatty() and good:
            sys.stdout.write("\r" + line[:118].ljust(118))
        else:
            sys.stdout.write(("\r" if sys.stdout.isatty() else "") + line + "\n")
        sys.stdout.flush()


def summary_table(rows, totals):
    """One row a fault, over its workloads and numbers of replicas."""
    table = Table(title="injected faults", title_justify="left")
    for heading in ("injected", "expected", "found at"):
        table.add_column(heading, overflow="fold")
    for heading in ("runs", "detected", "both named" if "both_named" in totals else "named first", "sure"):
        table.add_column(heading, justify="right")
    for name in dict.fromkeys(sorted(row["planted"] for row in rows)):
        mine = [row for row in rows if row["planted"] == name]
        key = "both_named" if "both_named" in totals else "right"
        table.add_row(
            name,
            " + ".join(mine[0]["expected"]),
            ", ".join(sorted({str(row["stage"]) for row in mine})),
            str(len(mine)),
            str(sum(row["detected"] for row in mine)),
            str(sum(bool(row[key]) for row in mine)),
            str(sum(row["confidence"] == "high" for row in mine)),
        )
    return table


def verdict(totals):
    """The result in one sentence."""
    text = "{runs} runs of {faults} faults: detected {detected:.1%}, right cause first {named_first:.1%}"
    if "both_named" in totals:
        text += ", both named {both_named:.1%}"
    return (text + "; a wrong cause first with high confidence: {first_wrong_and_sure}").format(**totals)


def catalogue_table():
    """Builds the table of all causes with their pitfall numbers and faults."""
    from parity.causes import catalogue, speed

    table = Table(title="causes and the faults that inject them", title_justify="left")
    for heading in ("cause", "pitfall", "stage", "what", "faults"):
        table.add_column(heading, overflow="fold")
    for cause in catalogue.CAUSES + speed.CAUSES:
        table.add_row(cause.id, cause.pitfall, cause.stage, cause.title, ", ".join(f.name for f in cause.faults))
    return table
