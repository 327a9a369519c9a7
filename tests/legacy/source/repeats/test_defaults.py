"""Defaults of parameters: what most calls give is left out."""

from __future__ import annotations

from legacy.source.basics.expressions import Literal, Name, Value, call
from legacy.source.basics.rendering import expression_text
from legacy.source.lines.statements import Statement
from legacy.source.repeats.abstraction import Function
from legacy.source.repeats.defaults import with_defaults

CONV = Function("conv", ["scope", "x", "strides", "units"], {"x:0": "x"}, [Statement(("y:0",), Value("x:0"))], ["y:0"])


def shortened(*strides: object) -> tuple[list[str], list[str]]:
    """The parameters of `conv`, and its calls with these strides."""
    made = [Statement((f"t{n}:0",), call("conv", Name("scope"), strides=s, units=8)) for n, s in enumerate(strides)]
    (function,), (part,) = with_defaults([CONV], [made])
    return function.parameters, [expression_text(statement.expression) for statement in part]


def test_the_usual_value_is_a_default():
    parameters, calls = shortened(1, 1, 2, 1)
    assert parameters == ["scope", "x", "units", "strides=1"]  # one for units would hide what each call should say
    assert calls == [
        "conv(scope, units=8)",
        "conv(scope, units=8)",
        "conv(scope, strides=2, units=8)",
        "conv(scope, units=8)",
    ]


def test_a_value_of_few_calls_and_one_that_is_no_literal_are_given_in_every_call():
    for strides in ((1, 1), (1, 2, 3, 1), (Name("strides"),) * 3):
        parameters, calls = shortened(*strides)
        assert parameters == CONV.parameters and all("strides=" in text for text in calls)


def test_one_and_true_are_different_values():
    parameters, calls = shortened(Literal(1), Literal(True), Literal(1), Literal(1))
    assert parameters[-1] == "strides=1" and "strides=True" in calls[1]


def test_an_initializer_may_be_a_default_and_a_parameter_may_not():
    parameters, _ = shortened(*[Name("initializers.VarianceScaling(2.0)")] * 3, Name("ZEROS"))
    assert parameters[-1] == "strides=initializers.VarianceScaling(2.0)"
    parameters, _ = shortened(*[Name("initializer")] * 4)
    assert parameters == CONV.parameters
