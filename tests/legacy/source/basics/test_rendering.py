"""Text of expressions: precedence, literals, and lines that are broken."""

import numpy as np
import pytest

from legacy.source.basics.expressions import (
    Infix,
    Item,
    Lambda,
    Literal,
    Method,
    Name,
    Prefix,
    Scoped,
    Variable,
    call,
)
from legacy.source.basics.rendering import WIDTH, expression_text, layout, literal_text

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


def test_a_long_call_is_broken_and_no_line_is_too_long():
    short = layout("x = ", call("f", X, Y), "", 4)
    assert short == ["    x = f(x, y)"]
    name = Name("a" * 50)
    assert layout("x = ", call("f", name, name, name), "", 4) == [
        "    x = f(",
        f"        {name.text},",
        f"        {name.text},",
        f"        {name.text},",
        "    )",
    ]
    broken = layout("x = ", Infix("+", call("f", name, name), call("g", name, name)), "", 4)
    assert broken[0] == "    x = (" and broken[-1] == "    )" and all(len(line) <= WIDTH for line in broken)


def test_operands_that_are_too_long_are_broken_in_brackets_of_their_own():
    name = Name("a" * 50)
    total = Infix("+", Infix("+", name, name), name)
    lines = layout("x = ", Infix("*", total, Infix("-", Prefix("-", call("f", name, name, name)), total)), "", 4)
    assert max(map(len, lines)) <= WIDTH
    given = {name.text: 2.0, "f": lambda *values: sum(values)}
    assert eval("\n".join(lines).strip().removeprefix("x = "), given) == 6.0 * (-6.0 - 6.0)


def test_a_table_of_numbers_has_a_line_for_each_row_and_long_rows_are_filled():
    rows = [[0.25] * 12, [0.5] * 40]
    lines = layout("", call("tf.constant", Literal(rows)), "", 4)
    row = "            [" + ", ".join(["0.25"] * 12) + "],"
    assert lines[:4] == ["    tf.constant(", "        [", row, "            ["]
    assert max(map(len, lines)) <= WIDTH
    assert eval("\n".join(["(", *lines, ")"]).replace("tf.constant", "")) == (rows,)
    assert layout("x = ", Literal([1, 2]), "", 4) == ["    x = [1, 2]"]


def test_a_long_list_that_a_loop_makes_has_its_loop_in_a_line_of_its_own():
    item = "f(" + "gradient, " * 10 + "0)"
    lines = layout("x = ", Name(f'[{item} for gradient in gradients["w"]]'), "", 4)
    assert lines == ["    x = [", f"        {item}", '        for gradient in gradients["w"]', "    ]"]


@pytest.mark.parametrize(
    ("node", "first", "last"),
    [
        (Lambda("*state", call("f", LONG, LONG, Name("*state"))), "x = lambda *state: f(", ")"),
        (Item(call("f", LONG, LONG), "scope.replica"), "x = f(", ")[scope.replica]"),
        (Method(Name("array"), "write", (LONG, LONG)), "x = array.write(", ")"),
        (Name(f"*({LONG.text} for name in [{LONG.text}])"), "x = *(", ")"),
    ],
)
def test_what_has_brackets_is_broken_in_them(node, first, last):
    lines = layout("x = ", node)
    assert (lines[0], lines[-1]) == (first, last)
    assert len(lines) > 2 and max(map(len, lines)) <= WIDTH
    assert "".join(line.strip() for line in lines).replace(",", "").replace(" ", "") == (
        ("x=" + expression_text(node)).replace(",", "").replace(" ", "")
    )
