"""Rows of updates of variables that no optimizer trains."""

import doctest

import pytest

from legacy.saved.facts import variable_updates
from legacy.saved.facts.variable_updates import VariableUpdate, update_rows


@pytest.mark.parametrize(
    "towers, text", [((), "once, for all towers"), ((0,), "tower 0"), ((0, 2), "tower 0, tower 2")]
)
def test_a_row_names_the_towers(towers, text):
    row = VariableUpdate("mean", "", towers, "0.9", "AssignSub").row()
    assert list(row.items()) == [
        ("variable", "mean"),
        ("of", "-"),
        ("changed by", text),
        ("decay", "0.9"),
        ("op", "AssignSub"),
    ]


def test_an_average_names_its_weight():
    assert VariableUpdate("w/average", "w", (), "0.99", "AssignSub").row()["of"] == "w"


@pytest.mark.parametrize("towers, text", [((), "tower 1, of no data"), ((1,), "tower 1")])
def test_one_of_several_towers_ops_that_take_no_data_is_named(towers, text):
    """As the vectors of a spectral norm, which each tower computes from the weights."""
    assert VariableUpdate("u", "", towers, "-", "Assign", among=1).row()["changed by"] == text


@pytest.mark.parametrize(
    "combine, text",
    [("", "tower 0, tower 1"), ("mean", "mean of tower 0, tower 1"), ("concat", "all rows of tower 0, tower 1")],
)
def test_what_is_made_of_all_towers_results_is_told(combine, text):
    assert VariableUpdate("mean", "", (0, 1), "0.9", "Assign", combine=combine).row()["changed by"] == text


def update(variable="mean", towers=(0,), decay="0.9", train_op=""):
    return VariableUpdate(variable, "", towers, decay, "AssignSub", train_op=train_op)


def test_the_docstrings_examples_hold():
    assert doctest.testmod(variable_updates).failed == 0


def test_a_statistic_that_train_ops_change_in_turn_is_one_row():
    turns = [update("mean", train_op="critic"), update("other", (1,)), update("mean", (0, 1), "0.99", "generator")]
    rows = update_rows(turns)
    assert [row["variable"] for row in rows] == ["mean", "other"]
    assert rows[0]["changed by"] == "2 ops: tower 0 in critic / tower 0, tower 1 in generator"
    assert (rows[0]["decay"], rows[0]["op"]) == ("0.9 / 0.99", "AssignSub")
    assert rows[1] == turns[1].row()


def test_ops_of_one_run_are_told_by_their_towers_alone():
    rows = update_rows([update(), update(towers=(1,)), update()])
    assert [row["changed by"] for row in rows] == ["3 ops: tower 0 (2) / tower 1"]


def test_statistics_that_one_op_each_changes_have_a_row_each():
    alone = [update("mean", train_op="critic"), update("other", train_op="generator")]
    assert update_rows(alone) == [one.row() for one in alone]
