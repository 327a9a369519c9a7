"""The table of all workloads, from made-up JSON of the two commands."""

import pytest

from parity.reports.workloads_table import workloads_table
from tests.parity.reports.rendering import headings, rows

JOB = {"replicas": "4", "global_batch": "32"}
VERIFIED = {"workload": "a", "job": JOB, "verdict": "parity", "tolerance": "exact", "steps": 20}


def ratio(median):
    return {"median": median, "low": median - 0.125, "high": median + 0.125, "outliers": 0}


def contestant(name, kind, examples_per_second, median=None, problem=""):
    made = {"name": name, "input": kind, "problem": problem, "note": ""}
    if not problem:
        made.update(examples_per_second=examples_per_second, ratio=ratio(median))
    return made


TIMED = {
    "workload": "a",
    "verdict": "faster",
    "ratios": {"resident": ratio(2.0), "streamed": ratio(0.75)},
    "verdicts": {"resident": "faster", "streamed": "slower"},
    "contestants": [
        contestant("legacy", "resident", 1234.4, 0.5),
        contestant("modern", "resident", 2469.0, 1.0),
        contestant("one device", "resident", 1000.0, 1.5),
        contestant("legacy", "streamed", 100.0, 1.25),
        contestant("modern", "streamed", 75.0, 1.0),
        contestant("one device", "streamed", 0, problem="not equal to the towers"),
    ],
}


def rows_of(verified, timed):
    return rows(workloads_table({"verify": [verified], "benchmark": [timed]}))


def test_a_workload_that_is_equal_and_timed_with_both_inputs():
    parity = "[green]20 steps, identical bits[/]"
    assert rows_of(VERIFIED, TIMED) == [
        ("a", "4 x 8", parity, "resident", "1,234", "2,469", "2.00 [1.88, 2.12]", "faster", "1.50 [1.38, 1.62]"),
        ("", "", "", "streamed", "100", "75", "0.75 [0.62, 0.88]", "slower", "[red]failed[/]"),
    ]


def test_predictions_are_a_column_of_their_own():
    sides = {"legacy": {"examples_per_second": 4096.2}, "modern": {"examples_per_second": 8192.0}}
    timed = {**TIMED, "predicted": {"machine": "v100x8", "sides": sides}}
    table = workloads_table({"verify": [VERIFIED], "benchmark": [timed]})
    assert headings(table)[-1] == "predicted on v100x8,\nlegacy | modern examples/s"
    assert [row[-1] for row in rows(table)] == ["4,096 | 8,192", ""]


def test_another_program_has_a_column_of_its_own():
    mine = contestant("mine", "resident", 10.0, 3.0)
    table = workloads_table(
        {"verify": [VERIFIED], "benchmark": [{**TIMED, "contestants": [*TIMED["contestants"], mine]}]}
    )
    assert headings(table)[-2:] == ["one device/\nmodern, 95 %", "mine/\nmodern, 95 %"]
    assert [row[-1] for row in rows(table)] == ["3.00 [2.88, 3.12]", "-"]


@pytest.mark.parametrize(
    "changes, text",
    [({"tolerance": "auto"}, "[green]20 steps, within rounding[/]"), ({"verdict": "no parity"}, "[red]NO[/]")],
)
def test_parity_in_words(changes, text):
    assert rows_of({**VERIFIED, **changes}, TIMED)[0][2] == text


def test_without_parity_no_speed_is_shown():
    (row,) = rows_of(VERIFIED, {"workload": "a", "verdict": "no parity", "contestants": []})
    assert row[3:] == ("-", "-", "-", "-", "no parity", "-")


def test_speeds_are_found_by_the_workloads_name():
    verified = [VERIFIED, {**VERIFIED, "workload": "b"}]
    other = {**TIMED, "workload": "b", "verdicts": {"resident": "slower", "streamed": "slower"}}
    table = workloads_table({"verify": verified, "benchmark": [other, TIMED]})
    assert [(row[0], row[7]) for row in rows(table)] == [
        ("a", "faster"),
        ("", "slower"),
        ("b", "slower"),
        ("", "slower"),
    ]
