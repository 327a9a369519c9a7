"""Runs of calls in a row become loops, and what is no run stays as it is."""

from __future__ import annotations

import pytest

from legacy.source.basics.expressions import Argument, Call, Literal, Loop, Name, Scoped, Value
from legacy.source.basics.rendering import expression_text
from legacy.source.functions.function_lines import function_lines
from legacy.source.lines.statements import Statement
from legacy.source.repeats.runs import may_have_runs, with_loops


def unit(number: int, **changed: object) -> Statement:
    """Returns `t<n>:0 = layer(scope, t<n-1>:0, "net/unit_<n>", units=8)`."""
    given = {"taken": Value(f"t{number - 1}:0"), "name": Literal(f"net/unit_{number}"), "units": Literal(8), **changed}
    arguments = [Argument("", Name("scope")), Argument("", given["taken"]), Argument("", given["name"])]
    return Statement((f"t{number}:0",), Call("layer", (*arguments, Argument("units", given["units"]))))


def text(statements: list[Statement], **given: object) -> list[str]:
    return [expression_text(statement.expression) for statement in with_loops(statements, **given)]


LOOP = 'for unit in range(1, 4): layer(scope, <carried>, f"net/unit_{unit}", units=8)'


def test_calls_in_a_row_are_a_loop():
    (statement,) = with_loops([unit(n) for n in (1, 2, 3)], ["t3:0"])
    assert expression_text(statement.expression) == LOOP and statement.targets == ("t3:0",)
    assert isinstance(statement.expression, Loop) and statement.expression.start == Value("t0:0")


def test_a_run_ends_where_a_call_differs_otherwise():
    assert text([*(unit(n) for n in (1, 2, 3)), unit(4, units=Literal(16))])[0] == LOOP
    assert len(text([*(unit(n) for n in (1, 2, 3)), unit(4, units=Literal(16))])) == 2


@pytest.mark.parametrize(
    "second",
    [
        unit(2, units=Literal(16)),  # another size
        unit(2, name=Literal("net/unit_5")),  # a number that does not follow
        unit(2, name=Literal("other/unit_2")),  # another name
        unit(2, taken=Value("t0:0")),  # of another tensor
        unit(2, name=Literal("net/{unit_2}")),  # a name that no f-string can have
    ],
)
def test_what_differs_otherwise_stays(second):
    statements = [unit(1), second, unit(3)]
    assert with_loops(statements, ["t3:0"]) == statements


def test_two_calls_stay_and_results_that_are_used_elsewhere_keep_their_lines():
    assert with_loops([unit(1), unit(2)]) == [unit(1), unit(2)]
    statements = [unit(n) for n in (1, 2, 3)]
    assert with_loops(statements, ["t2:0", "t3:0"]) == statements


def test_the_number_has_a_name_that_is_free():
    def scoped(number: int) -> Statement:
        return unit(number, name=Scoped(Name("name"), f"/layer_{number}/dense"), units=Literal(number + 2))

    (found,) = text([scoped(n) for n in (1, 2, 3)], taken={"unit"})
    assert found == 'for index in range(1, 4): layer(scope, <carried>, f"{name}/layer_{index}/dense", units=index + 2)'


def test_a_result_that_is_taken_twice_is_carried_twice():
    def residual(number: int) -> Statement:
        made = unit(number)
        return made._replace(
            expression=Call("layer", (*made.expression.arguments, Argument("", Value(f"t{number - 1}:0"))))
        )

    (found,) = text([residual(n) for n in (1, 2, 3)])
    assert found == 'for unit in range(1, 4): layer(scope, <carried>, f"net/unit_{unit}", units=8, <carried>)'


def test_a_loop_is_written_with_the_name_of_its_result_and_keeps_others_alive():
    """The mask is used for the last time in the loop, but in each of its turns: the result cannot take its name."""
    mask = Statement(("mask:0",), Call("tf.abs", (Argument("", Value("t0:0")),)))
    masked = [
        unit(n)._replace(expression=Call("layer", (*unit(n).expression.arguments, Argument("mask", Value("mask:0")))))
        for n in (1, 2, 3)
    ]
    statements = with_loops([mask, *masked], ["t3:0"])
    lines = function_lines("f(scope, x)", "Doc.", statements, lambda _: [2, 2], {"t0:0": "x"}, results=["t3:0"])
    assert lines[2:] == [
        "    y = tf.abs(x)",
        "    for unit in range(1, 4):",
        '        x = layer(scope, x, f"net/unit_{unit}", units=8, mask=y)',
        "    return x",
    ]


def test_only_calls_in_a_row_may_have_runs():
    between = Statement(("y",), Value("t1:0"))
    assert may_have_runs([between, *(unit(n) for n in (1, 2, 3))])
    assert not may_have_runs([unit(1), unit(2), between, unit(3), unit(4)])
    assert not may_have_runs([])
