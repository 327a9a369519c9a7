"""Tests of rows that are folded."""

from __future__ import annotations

from legacy.saved.report.alike_rows import fold_rows
from legacy.saved.report.page_text import page_lines


def rows_of_layers(count: int) -> list[dict[str, object]]:
    return [{"name": f"tower_0/conv{i}/w", "shape": "[3]", "bytes": 12} for i in range(1, count + 1)]


def test_rows_that_differ_in_numbers_of_names_alone_are_one_which_keeps_common_numbers():
    ((row, number),) = fold_rows(rows_of_layers(3))
    assert row == {"name": "tower_0/conv*/w", "shape": "[3]", "bytes": 12} and number == 3


def test_rows_that_differ_in_other_columns_stay_apart():
    rows = rows_of_layers(4)
    rows[1]["bytes"] = 24
    names = [(row["name"], number) for row, number in fold_rows(rows)]
    assert names == [("tower_0/conv*/w", 3), ("tower_0/conv2/w", 1)]


def test_two_rows_stay_apart():
    rows = rows_of_layers(2)
    assert fold_rows(rows) == [(row, 1) for row in rows]


def test_a_page_folds_sections_longer_than_its_limit_alone():
    rows = rows_of_layers(6) + [{"name": "bias", "shape": "[1]", "bytes": 4}]
    assert "tower_0/conv*/w" not in "".join(page_lines({"variables": rows}, 7))
    lines = list(page_lines({"variables": rows}, 6))
    assert lines[2:] == [
        "  name             shape  bytes  rows",
        "  tower_0/conv*/w  [3]    12     6",
        "  bias             [1]    4      1",
        "  * stands for different numbers, and `rows` for how many rows are alike; --rows=7 shows each",
    ]


def test_rows_that_are_left_out_are_counted_as_they_were_before():
    rows = [{"name": f"{letter}{i}", "shape": "[3]"} for letter in "ab" for i in range(3)]
    assert list(page_lines({"variables": rows}, 1))[-1] == "  and 3 more (--rows, --json)"


def test_moving_averages_of_layers_are_one_row():
    rows = [{"variable": f"conv{i}/w/average", "of": f"conv{i}/w", "decay": "0.9"} for i in range(3)]
    assert fold_rows(rows) == [({"variable": "conv*/w/average", "of": "conv*/w", "decay": "0.9"}, 3)]
