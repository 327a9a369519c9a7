"""The forms in which programs square a tensor, and what looks like them."""

import numpy as np
import pytest

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.squares import is_error, squared
from tests.legacy.saved.graphs import graph_of, saved


@pytest.mark.parametrize(
    "square, is_square",
    [
        ("Square(x)", True),
        ("Pow(x, two)", True),
        ("Mul(x, x)", True),
        ("Mul(x, copy)", True),
        ("Mul(x, two)", False),
        ("Pow(x, three)", False),
        ("Neg(x)", False),
    ],
)
def test_squares(square, is_square):
    text = f"x = Placeholder()\ncopy = Identity(x)\ntwo = Const()\nthree = Const()\ny = {square}"
    numbers = {name: {"value": np.array(value, np.float32)} for name, value in {"two": 2, "three": 3}.items()}
    found = squared(WholeGraph(saved(graph_of(text, **numbers))), "y")
    assert (found is not None and found.node == "x") == is_square


@pytest.mark.parametrize(
    "uses, expected",
    [
        ("Square(d)", True),
        ("Abs(d)", True),
        ("Mul(d, w)\nz = Square(y)", True),
        ("Add(d, w)\nz = Square(y)", False),
        ("Tanh(d)", False),
    ],
)
def test_errors_are_differences_whose_size_counts(uses, expected):
    whole = WholeGraph(saved(graph_of(f"a = Placeholder()\nb = Placeholder()\nw = Const()\nd = Sub(a, b)\ny = {uses}")))
    whole.minimized = frozenset(whole.graph.nodes)
    assert is_error(whole, "d") == expected
