"""The page of `legacy.inspect`, line by line, and the sections behind it."""

import pytest
import tensorflow as tf

from legacy.saved.report.page import inspect_graph, page_lines
from tests.legacy.saved.graphs import graph_of, traced
from tests.legacy.saved.programs import two_towers
from tests.legacy.saved.report.test_hazards import NOT_APPLIED
from workloads.support.errors import InputError

v1 = tf.compat.v1


def written(graph, tmp_path):
    path = tmp_path / "graph.pb"
    path.write_bytes(graph.graph_def.SerializeToString())
    return str(path)


def test_an_analysed_graph_has_facts_and_hazards(tmp_path):
    sections = inspect_graph(written(two_towers(), tmp_path))
    assert list(sections)[:3] == ["program", "towers", "inputs"] and list(sections)[-1] == "hazards"
    assert [row["hazard"] for row in sections["hazards"]] == ["STATISTICS_OF_ONE_TOWER"]


def test_a_graph_that_cannot_be_analysed_still_has_hazards(tmp_path):
    floats = {line.split(" = ")[0].strip(): {"T": tf.float32} for line in NOT_APPLIED.splitlines() if "Neg" in line}
    sections = inspect_graph(written(graph_of(NOT_APPLIED, x={"dtype": tf.float32}, **floats), tmp_path))
    assert list(sections) == ["not taken apart", "hazards"]
    assert sections["not taken apart"][0]["what"].startswith("graph file: no update op")


def test_a_graph_without_facts_and_hazards_is_refused(tmp_path):
    graph = traced(lambda: tf.square(v1.placeholder(tf.float32, [2], "x")))
    with pytest.raises(InputError, match="no update op"):
        inspect_graph(written(graph, tmp_path))


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


def test_wide_columns_run_over():
    rows = [{"name": "n" * 80, "size": 1}, {"name": "n", "size": 2}]
    lines = list(page_lines({"variables": rows}, 5))
    assert lines[3] == "  " + "n" * 80 + "  1" and lines[4] == "  n" + " " * 71 + "2"
