"""The page of `legacy.inspect`, line by line."""

import pytest

from legacy.saved.facts.basics.rows import NOT_ANALYSED
from legacy.saved.report.page_text import page_lines


def test_hazards_of_a_graph_that_is_not_analysed_are_not_said_to_be_none():
    sections = {NOT_ANALYSED: [{"what": "a reason"}], "hazards": []}
    assert list(page_lines(sections, 5))[-1] == "  not known: most of them need the analysis"


def test_lines_of_a_page():
    sections = {
        "towers": [{"what": "number", "is": "2"}, {"what": "told apart by", "is": "device /gpu:k"}],
        "statistics": [{"variable": "mean", "of": "-", "changed by": "tower 0", "op": "Assign"}],
        "watch": [{"what": "a race"}],
        "hazards": [],
    }
    assert list(page_lines(sections, 5)) == [
        "",
        "TOWERS",
        "  number         2",
        "  recognised by  device /gpu:k",
        "",
        "STATISTICS",
        "  variable  weight  computed by  op",
        "  mean      -       tower 0      Assign",
        "",
        "WATCH",
        "  a race",
        "",
        "HAZARDS",
        "  none",
    ]


@pytest.mark.parametrize("most, ending", [(3, "  c"), (2, "  and 1 more (--rows, --json)")])
def test_long_sections_are_cut(most, ending):
    assert list(page_lines({"watch": [{"what": text} for text in "abc"]}, most))[-1] == ending


def test_no_line_is_wider_than_a_terminal():
    rows = [{"name": "scope/" * 30, "size": 1, "text": "a sentence " * 20}, {"name": "n", "size": 2, "text": "t"}]
    hazard = {"hazard": "KIND", "op": "node", "what": "a sentence " * 20, "in tf.distribute": "advice " * 30}
    lines = list(page_lines({"variables": rows, "hazards": [hazard]}, 5))
    assert max(map(len, lines)) <= 120
    names = "".join(line[2:60].split("  ")[0].strip() for line in lines[3 : lines.index("HAZARDS") - 2])
    assert names == "scope/" * 30
    assert "    in tf.distribute: " + "advice " * 13 + "advice" in lines
