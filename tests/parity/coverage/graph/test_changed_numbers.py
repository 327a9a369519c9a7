"""Other values of constants, and terms of what is rounded down."""

import numpy as np
import pytest

from parity.coverage.graph.changed_numbers import changed_numbers, is_term_of_floor, only_asks_finite, words_of
from tests.legacy.saved.graphs import graph_of


@pytest.mark.parametrize(
    "value, expected",
    [
        (np.int64(3), [2, 4]),
        (np.float32(2.0), [2.02]),
        (np.float32(0.75), [0.7475]),  # a decay: its distance from 1
        (np.float32(0.0), [0.01]),
        (np.float32(1e-8), [1e-7]),
    ],
)
def test_a_constant_is_changed_by_its_kind(value, expected):
    assert np.allclose(changed_numbers(np.asarray(value), 1.01), expected, rtol=1e-6)


@pytest.mark.parametrize(
    "graph, expected",
    [
        ("stair = Floor(sum)", True),
        ("stair = Floor(sum)\nother = Neg(sum)", False),
        ("other = Neg(sum)", False),
        ("stair = Floor(sum)\nother = Neg(one)\nlow = Floor(other)", False),
        ("", False),
    ],
)
def test_a_term_of_a_floor_is_used_by_nothing_else(graph, expected):
    built = graph_of(f"one = Const()\ncount = Placeholder()\nsum = AddV2(one, count)\n{graph}\n")
    assert is_term_of_floor(built, ["one"]) is expected


@pytest.mark.parametrize(
    "graph, expected",
    [
        ("asked = IsFinite(product)", True),
        ("asked = IsFinite(product)\nother = Neg(product)", False),
        ("asked = IsFinite(product)\nother = Neg(one)", False),
        ("asked = IsFinite(one)", False),
        ("", False),
    ],
)
def test_a_factor_that_only_decides_what_is_finite_is_used_by_nothing_else(graph, expected):
    built = graph_of(f"one = Const()\nscale = Placeholder()\nproduct = Mul(scale, one)\n{graph}\n")
    assert only_asks_finite(built, ["one"]) is expected


def test_constants_in_words():
    assert words_of(np.float32(0.5)) == "0.5" and words_of(np.array([1.0, 2.0])) == "1, ... [2]"
