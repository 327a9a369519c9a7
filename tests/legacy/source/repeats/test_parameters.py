"""Parameters of functions: sizes, also where they stand in a list."""

import doctest

from legacy.source.basics.expressions import Listing, Literal, Name, Value, call
from legacy.source.lines.statements import Statement
from legacy.source.repeats import parameters


def found(*shapes):
    """The parameters of blocks that reshape a tensor, and what stands for the shape."""
    blocks = [[Statement((f"y{n}:0",), call("tf.reshape", Value(f"x{n}:0"), shape))] for n, shape in enumerate(shapes)]
    made = parameters.Parameters(blocks, lambda tensor: None)
    return made, made.contents(0)[-1]


def test_the_docstrings_examples_hold():
    assert doctest.testmod(parameters).failed == 0


def test_the_only_size_in_which_lists_differ_is_a_parameter():
    made, shape = found([-1, 64], [-1, 32])
    assert made.parameters == ["x", "units"] and shape == Listing((Literal(-1), Name("units")))
    assert [made.arguments(block)[1] for block in (0, 1)] == [Literal(64), Literal(32)]
    made, shape = found([4, 3], [2, 3])
    assert made.parameters == ["x", "size"] and shape == Listing((Name("size"), Literal(3)))


def test_lists_that_differ_by_more_are_parameters_themselves():
    made, shape = found([4, 64], [2, 32])
    assert made.parameters == ["x", "shape"] and shape == Name("shape")
