"""Functions that only hand on what they are given; those that do or add anything stay."""

import pytest

from legacy.source.basics.expressions import Argument, Call, Literal, Name, Value, call
from legacy.source.basics.rendering import expression_text
from legacy.source.lines.statements import Statement
from legacy.source.repeats.abstraction import Function
from legacy.source.repeats.mere_calls import without_mere_calls


def function(name, *statements):
    """A function of the scope, a tensor and a name, which returns the result of its last statement."""
    return Function(name, ["scope", "x", "name"], {f"x@{name}": "x"}, list(statements), [f"y@{name}"])


def handed_on(name, other, variable=None, keyword=""):
    """A function that calls another one with its tensor, and with its own name or another one."""
    given = (
        Argument("", Name("scope")),
        Argument("", Value(f"x@{name}")),
        Argument(keyword, variable or Name("name")),
    )
    return function(name, Statement((f"y@{name}",), Call(other, given)))


BLOCK = function("block", Statement(("y@block",), call("tf.tanh", Value("x@block"))))
USES = [Statement((), call("up", Name("scope"), Value("x:0"), "net/up"))]


def names_and_text(*functions):
    kept, (part,) = without_mere_calls([BLOCK, *functions], [USES])
    return [one.name for one in kept], expression_text(part[0].expression)


def test_calls_of_a_function_that_only_calls_another_one_are_calls_of_the_other():
    assert names_and_text(handed_on("up", "block")) == (["block"], 'block(scope, <x:0>, "net/up")')
    assert names_and_text(handed_on("up", "block", keyword="name"))[0] == ["block"]
    outer = [handed_on("up", "lo"), handed_on("lo", "block")]
    assert names_and_text(*outer) == (["block"], 'block(scope, <x:0>, "net/up")')


@pytest.mark.parametrize(
    "own",
    [
        handed_on("up", "block", Literal("net/other")),
        handed_on("up", "block", Name('f"{name}/a"')),
        handed_on("up", "block", keyword="folder"),
        handed_on("up", "tf.tanh"),
        function("up", Statement(("y@up",), call("tf.tanh", Value("x@up")))),
        handed_on("up", "block")._replace(parameters=["scope", "x", "name", "units"]),
    ],
)
def test_a_function_that_does_or_gives_something_else_stays(own):
    assert names_and_text(own) == (["block", "up"], 'up(scope, <x:0>, "net/up")')
