"""The table of one workload's programs, from made-up JSON."""

from parity.reports.speed_table import speed_table
from tests.parity.reports.rendering import rows

RESULT = {
    "workload": "a",
    "job": {"global_batch": "32"},
    "contestants": [
        {
            "name": "legacy",
            "input": "resident",
            "problem": "",
            "note": "in 2 parts",
            "examples_per_second": 1234.5,
            "ratio": {"median": 0.5, "low": 0.25, "high": 0.75, "outliers": 0},
        },
        {"name": "[mine]", "input": "streamed", "problem": "ended by signal 9", "note": ""},
    ],
}


def test_a_row_for_each_program_with_its_input():
    table = speed_table(RESULT)
    assert rows(table) == [
        ("legacy", "resident", "1,234", "0.50 [0.25, 0.75]", "in 2 parts"),
        ("\\[mine]", "streamed", "-", "-", "ended by signal 9"),
    ]
    assert "a, batch 32" in str(table.title) and "relative to the port's with the same input" in str(table.title)
