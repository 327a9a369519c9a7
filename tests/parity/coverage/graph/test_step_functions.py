"""What is computed from step counters and constants alone, the constants of it, and what data or noise decide."""

import pytest
import tensorflow as tf

from parity.coverage.graph.step_functions import constants_of_step, functions_of_step, is_period
from tests.legacy.saved.graphs import graph_of

GRAPH = """
step = VariableV2()
one = Const()
hundred = Const()
zero = Const()
axis = Const()
half = Const()
read = Identity(step)
more = AssignAdd(step, one)
late = Cast({counted})
rest = FloorMod({counted}, hundred)
due = Equal(rest, zero)
weight = Select(due, half, half)
wide = ExpandDims(weight, axis)
"""
COUNTER = {"dtype": tf.int64, "shape": tf.TensorShape([])}
ATTRIBUTES = {name: {"dtype": tf.int64} for name in ("one", "hundred", "zero", "axis")}
ATTRIBUTES |= {"step": COUNTER, "half": {"dtype": tf.float32}}


def graph(counted="read", others="", **attributes):
    return graph_of(GRAPH.format(counted=counted) + others, **{**ATTRIBUTES, **attributes})


@pytest.mark.parametrize("counted, constants", [("read", set()), ("more", {"one"})])
def test_what_is_due_at_a_step_is_a_function_of_it(counted, constants):
    built = graph(counted)
    ends = built.ancestors(["wide"])
    assert {"rest", "due", "weight", "wide"} <= functions_of_step(built, ends)
    assert constants_of_step(built, ends) == {"hundred", "zero", "half", *constants}


@pytest.mark.parametrize("other", ["Placeholder()", "RandomUniform(axis)", "IteratorGetNext()"])
def test_what_depends_on_data_or_random_numbers_is_none(other):
    built = graph("mixed", f"other = {other}\nmixed = Add(read, other)")
    assert functions_of_step(built, built.ancestors(["wide"])) == {"step", "read"}
    assert constants_of_step(built, built.ancestors(["wide"])) == set()


@pytest.mark.parametrize(
    "variable",
    [{"dtype": tf.float32, "shape": tf.TensorShape([])}, {"dtype": tf.int64, "shape": tf.TensorShape([3])}, {}],
)
def test_only_a_variable_of_one_whole_number_counts(variable):
    built = graph(step=variable)
    assert functions_of_step(built, built.nodes) == set() == constants_of_step(built, built.nodes)


def test_a_change_of_another_variable_is_none():
    built = graph(others="other = VariableV2()\nset = Assign(other, weight)", other={"dtype": tf.float32})
    assert "set" not in functions_of_step(built, built.nodes) and "weight" in functions_of_step(built, built.nodes)


def test_a_period_is_what_a_remainder_divides_by():
    assert is_period(graph(), ["hundred"]) and not is_period(graph(), ["zero"])
    assert not is_period(graph(others="above = Greater(read, hundred)"), ["hundred"])
    assert not is_period(graph_of("hundred = Const()"), ["hundred"])
