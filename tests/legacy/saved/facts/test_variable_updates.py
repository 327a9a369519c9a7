"""Rows of updates of variables that no optimizer trains."""

import pytest

from legacy.saved.facts.variable_updates import VariableUpdate


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
