"""Repeated blocks, and the lines that they take as loops and calls."""

from __future__ import annotations

from legacy.source.basics.expressions import Argument, Call, Literal, Name, Value, call
from legacy.source.lines.statements import Statement
from legacy.source.repeats.blocks import alike_blocks, repeated_blocks
from legacy.source.repeats.sizes import OVERHEAD, fewest_lines, lines_of_calls, lines_with_loops


def layers(count: int) -> list[Statement]:
    """Two lines a layer, and the result."""
    lines = []
    for n in range(count):
        lines.append(Statement((f"a{n}:0",), call("tf.tanh", Value(f"b{n - 1}:0"))))
        lines.append(Statement((f"b{n}:0",), call("tf.sqrt", Value(f"a{n}:0"))))
    return [*lines, Statement((), Value(f"b{count - 1}:0"))]


def unit(number: int, size: int = 8) -> Statement:
    arguments = [
        Argument("", Name("scope")),
        Argument("", Value(f"t{number - 1}:0")),
        Argument("", Literal(f"unit_{number}")),
    ]
    return Statement((f"t{number}:0",), Call("layer", (*arguments, Argument("size", Literal(size)))))


def test_blocks_of_several_places_are_found_with_what_they_save():
    pairs = next(one for one in repeated_blocks(layers(8), set()) if one.length == 2)
    assert list(pairs.sizes) == list(range(0, 16, 2)) and pairs.body == 2
    assert pairs.saved == 16 - 2 - 2 - OVERHEAD  # eight in a row may be a loop of two lines
    assert repeated_blocks(layers(1), set()) == []


def test_blocks_whose_values_go_elsewhere_are_not_alike():
    statements = layers(3)
    statements[3] = statements[3]._replace(expression=call("tf.sqrt", Value("a0:0")))
    assert alike_blocks(statements, [0, 2, 4], 2) == [0, 4]


def test_calls_in_a_row_take_two_lines_and_others_one_each():
    assert fewest_lines([0, 2, 4, 9], 2) == 3
    assert lines_with_loops([unit(n) for n in (1, 2, 3)], [1, 1, 1]) == [2, 0, 0]
    assert lines_with_loops([unit(1), unit(5), unit(3)], [1, 1, 1]) == [1, 1, 1]
    assert lines_of_calls({n: unit(n) for n in (1, 2, 3)}, 1) == 2
    assert lines_of_calls({n: unit(n) for n in (1, 2, 9)}, 1) == 3
