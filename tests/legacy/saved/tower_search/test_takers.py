"""The tower that alone takes an input."""

import pytest

from legacy.saved.tower_search.takers import taker_alone
from legacy.saved.tower_search.towers import Towers
from tests.legacy.saved.graphs import graph_of
from workloads.lifted.plan import Input


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
