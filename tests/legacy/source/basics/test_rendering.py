"""Text of expressions: precedence, literals, and lines that are broken."""

import numpy as np

from legacy.source.basics.expressions import (
    Infix,
    Item,
    Literal,
    Name,
    Prefix,
    Scoped,
    Variable,
)
from legacy.source.basics.rendering import expression_text, literal_text
from legacy.source.lines.line_breaks import layout

X, Y = Name("x"), Name("y")
LONG = Name("value" * 14)


def test_parentheses_stand_where_the_order_of_the_operations_needs_them():
    assert expression_text(Infix("*", Infix("+", X, Y), X)) == "(x + y) * x"
    assert expression_text(Infix("+", Infix("+", X, Y), X)) == "x + y + x"
    assert expression_text(Infix("+", X, Infix("+", Y, X))) == "x + (y + x)"
    assert expression_text(Infix("-", X, Infix("*", Y, X))) == "x - y * x"
    assert expression_text(Infix("-", X, Literal(-0.5))) == "x + 0.5"
    assert expression_text(Infix("*", Infix("-", X, Literal(-0.5)), Y)) == "(x + 0.5) * y"
    assert expression_text(Infix("**", Infix("*", X, Y), Literal(-0.5))) == "(x * y) ** -0.5"
    assert expression_text(Prefix("-", Infix("+", X, Y))) == "-(x + y)"
    assert expression_text(Item(Infix("+", X, Y), ":, 0")) == "(x + y)[:, 0]"


def test_a_sum_that_begins_with_zero_is_the_sum_of_a_list():
    zero = Literal(np.float32(0.0))
    assert expression_text(Infix("+", Infix("+", zero, X), Y)) == "sum([x, y])"
    for other in (Infix("+", zero, X), Infix("-", Infix("+", zero, X), Y)):
        assert expression_text(other).startswith("0.0 + x")
    lines = layout("return ", Infix("+", Infix("+", zero, LONG), LONG))
    assert lines[0] == "return sum(" and eval("\n".join(lines)[7:], {LONG.text: 2}) == 4


def test_a_condition_binds_least():
    term = Infix("if scope.replica == 0 else", X, Literal(0.0))
    assert expression_text(Infix("+", Y, term)) == "y + (x if scope.replica == 0 else 0.0)"


def test_a_number_has_the_digits_of_its_own_dtype_and_reads_back_as_the_same_bits():
    for value in (np.float32(0.1), np.float32(1e-8), np.float32(1 / 3), np.float32(0.001 / 9)):
        assert np.float32(float(literal_text(value))) == value
    assert literal_text(np.float32(0.1)) == "0.1"
    assert literal_text(0.1 + 0.2) == "0.30000000000000004"
    assert literal_text(float("-inf")) == 'float("-inf")'
    assert literal_text((1,)) == "(1,)" and literal_text([True, None]) == "[True, None]"
    assert literal_text('a"b') == '"a\\"b"'


def test_a_variable_is_asked_for_by_name_and_shape():
    assert expression_text(Variable("w", (2, 3))) == 'scope.get("w", (2, 3))'
    statistic = Variable(Scoped(Name("name"), "/mean"), (Name("units"),), "ZEROS", trainable=False)
    assert expression_text(statistic) == 'scope.get(f"{name}/mean", (units,), ZEROS, trainable=False)'
