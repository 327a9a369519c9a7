"""The table of all workloads, from made-up JSON of the two commands."""

import pytest

from parity.reports.workloads_table import workloads_table
from tests.parity.reports.rendering import rows

JOB = {"replicas": "4", "global_batch": "32"}
VERIFIED = {"workload": "a", "job": JOB, "verdict": "parity", "tolerance": "exact", "steps": 20}
TIMED = {
    "workload": "a",
    "verdict": "faster",
    "examples_per_second": {"legacy": 1234.4, "modern": 2469.0},
    "ratio": {"median": 2.0, "low": 1.875, "high": 2.125, "outliers": 0},
}


def row_of(verified, timed):
    (row,) = rows(workloads_table({"verify": [verified], "benchmark": [timed]}))
    return row


def test_a_workload_that_is_equal_and_timed():
    parity, speeds = "[green]20 steps, identical bits[/]", ("1,234", "2,469", "2.00 [1.88, 2.12]")
    assert row_of(VERIFIED, TIMED) == ("a", "4 x 8", parity, *speeds, "faster")


@pytest.mark.parametrize(
    "changes, text",
    [({"tolerance": "auto"}, "[green]20 steps, within rounding[/]"), ({"verdict": "no parity"}, "[red]NO[/]")],
)
def test_parity_in_words(changes, text):
    assert row_of({**VERIFIED, **changes}, TIMED)[2] == text


def test_without_parity_no_speed_is_shown():
    assert row_of(VERIFIED, {"workload": "a", "verdict": "no parity"})[3:] == ("-", "-", "-", "no parity")


def test_speeds_are_found_by_the_workloads_name():
    verified = [VERIFIED, {**VERIFIED, "workload": "b"}]
    timed = [{**TIMED, "workload": "b", "verdict": "slower"}, TIMED]
    table = workloads_table({"verify": verified, "benchmark": timed})
    assert [(row[0], row[-1]) for row in rows(table)] == [("a", "faster"), ("b", "slower")]
