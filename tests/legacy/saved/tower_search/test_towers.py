"""Masks of towers' nodes, and the tower that alone takes an input."""

import pytest

from legacy.saved.tower_search.towers import Towers, taker_alone
from tests.legacy.saved.graphs import graph_of
from workloads.lifted.plan import Input


@pytest.mark.parametrize(
    "mask, tower, common, shared",
    [
        (0, None, False, False),
        (1, None, True, False),
        (3, 0, False, False),
        (5, 1, False, False),
        (7, None, False, True),
    ],
)
def test_a_nodes_mask_tells_the_towers_that_it_depends_on(mask, tower, common, shared):
    towers = Towers(2, "by hand", {"n": mask}, {}, set())
    assert (towers.tower_of("n"), towers.is_common("n"), towers.is_shared("n")) == (tower, common, shared)
    assert towers.tower_of("unknown") is None and not towers.is_common("unknown")


@pytest.mark.parametrize("mask, expected", [(1, None), (3, 0), (5, 1), (7, 1)])
def test_a_node_that_depends_on_several_towers_is_of_the_one_that_its_label_names(mask, expected):
    towers = Towers(2, "by hand", {"n": mask}, {"n": 1}, set())
    assert towers.labelled_tower_of("n") == expected and towers.labelled_tower_of("unknown") is None


@pytest.mark.parametrize(
    "tensors, expected",
    [(["x:0"], 1), (["y:0"], None), (["cast:0"], 1), (["unused:0"], None), (["x:0", "y:0"], None), (["split:0"], 0)],
)
def test_the_first_towers_behind_an_input_take_it(tensors, expected):
    graph = graph_of("""
        x = Placeholder()
        y = Placeholder()
        unused = Placeholder()
        cast = Cast(x)
        split = Split(y, y)
        first = Mul(split, split)
        second = Mul(split:1, cast)
        both = AddN(first, second)
    """)
    towers = Towers(
        2, "made for a test", {"x": 1, "cast": 1, "split": 1, "first": 3, "second": 5, "both": 7}, {}, set()
    )
    assert taker_alone(graph, towers, Input("x", "float32", [4], "same", 0, tensors, "")) == expected
