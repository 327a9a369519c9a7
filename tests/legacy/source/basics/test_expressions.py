"""Expressions: building, walking and replacing."""

from legacy.source.basics.expressions import (
    OMIT,
    Argument,
    Call,
    Infix,
    Listing,
    Literal,
    Name,
    Value,
    calls,
    leaves,
    replace,
    values_used,
)
from legacy.source.basics.expressions import call as make_call

SUM = Infix("+", Value("a:0"), make_call("tf.sqrt", Value("b:0"), axis=1))


def test_a_call_turns_python_values_into_literals_and_leaves_out_what_is_omitted():
    made = make_call("f", 1, [Name("x"), 2], keepdims=OMIT, axis=0)
    items = Listing((Name("x"), Literal(2)))
    assert made == Call("f", (Argument("", Literal(1)), Argument("", items), Argument("axis", Literal(0))))


def test_values_are_listed_in_the_order_of_the_text():
    assert values_used(SUM) == ["a:0", "b:0"]
    assert list(leaves(SUM)) == [Value("a:0"), Value("b:0"), Literal(1)]
    assert [part.function for part in calls(SUM)] == ["tf.sqrt"]


def test_parts_are_replaced_from_the_leaves_to_the_root():
    named = replace(SUM, lambda part: Name(part.tensor[0]) if isinstance(part, Value) else None)
    assert named == Infix("+", Name("a"), make_call("tf.sqrt", Name("b"), axis=1))
    assert replace(named, lambda part: Name("c") if part == named else None) == Name("c")


def test_expressions_of_different_kinds_are_never_equal():
    assert Name("x") != Value("x") and Name("x") != Literal("x")
