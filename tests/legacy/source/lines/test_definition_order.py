"""Order of definitions: each after those that it needs, and updates of statistics as early as they can be."""

import pytest

from legacy.source.basics.expressions import Definition, Value, Variable, call
from legacy.source.basics.unwritten import Unwritten
from legacy.source.lines.definition_order import Order, asked_for, is_read, updated


def defined(target, *used):
    return Definition((target,), call("tf.add_n", *map(Value, used)))


def changed(name, value):
    return Definition((), call("scope.update", name, Value(value)))


A, B, C = defined("a"), defined("b", "a"), defined("c", "b", "a")


def test_a_definition_comes_after_those_that_it_needs():
    assert Order([C, B, A]).needed(["c"]) == [A, B, C]


def test_definitions_that_need_each_other_have_no_order():
    with pytest.raises(Unwritten, match="networks that need each other"):
        Order([A, B, C], {"b": ["c"]}).needed(["b"])


def test_an_update_stands_behind_what_it_needs_and_behind_those_of_the_same_statistic():
    first, second, other = changed("mean", "c"), changed("mean", "a"), changed("variance", "a")
    found = Order([A, B, C]).with_effects([A, B, C], [first, second, other])
    assert found == [A, other, B, C, first, second]


def test_a_variable_that_an_update_needs_is_asked_for_just_before_it():
    ask = Definition((), Variable("mean", (3,), "", False))
    assert Order([A]).with_effects([A], [ask, changed("mean", "a")]) == [A, ask, changed("mean", "a")]
    assert (asked_for(ask), updated(changed("mean", "a")), updated(A)) == ("mean", "mean", "")
    assert is_read(Definition(("m",), ask.expression)) and not is_read(ask)
