"""Statements that are longer than a line are broken at calls, operators and brackets."""

import pytest

from legacy.source.basics.expressions import (
    Infix,
    Item,
    Lambda,
    Literal,
    Method,
    Name,
    Prefix,
    call,
)
from legacy.source.basics.rendering import expression_text
from legacy.source.lines.line_breaks import WIDTH, layout

X, Y = Name("x"), Name("y")
LONG = Name("value" * 14)


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


def test_operands_that_are_the_only_argument_need_no_brackets_of_their_own():
    name = Name("a" * 70)
    assert layout("x = ", call("f", Infix("-", Infix("+", name, name), name))) == [
        "x = f(",
        f"    {name.text}",
        f"    + {name.text}",
        f"    - {name.text}",
        ")",
    ]


def test_tables_of_all_towers_are_broken_into_their_rows():
    rows = [[float(number) for number in range(25)]] * 2
    lines = layout("x = ", call("tf.constant", Item(Literal((rows, rows)), "scope.replica % 2"), Name("tf.float32")))
    assert lines[1] == "    (" and lines[-3] == "    )[scope.replica % 2]," and lines.count("        ],") == 2
    assert all(len(line) <= WIDTH for line in lines)


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
