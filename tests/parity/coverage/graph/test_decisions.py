"""Comparisons of step counters with whole numbers, and comparisons that decide nothing about steps."""

import numpy as np
import pytest
import tensorflow as tf

from parity.coverage.graph.decisions import deciding_constants, decisions, is_period
from tests.legacy.saved.graphs import graph_of

INT, FLOAT = {"T": tf.int64}, {"T": tf.float32}
GRAPH = """
step = VariableV2()
read = Identity(step)
more = AssignAdd(step, one)
one = Const()
hundred = Const()
zero = Const()
rest = FloorMod({counted}, hundred)
due = Equal(rest, zero)
"""
ATTRIBUTES = {name: {"dtype": tf.int64} for name in ("step", "one", "hundred", "zero")}
ATTRIBUTES |= {name: INT for name in ("read", "more", "rest", "due")}


def graph(counted="read", others="", **attributes):
    return graph_of(GRAPH.format(counted=counted) + others, **{**ATTRIBUTES, **attributes})


@pytest.mark.parametrize("counted, constants", [("read", set()), ("more", {"one"})])
def test_a_step_that_is_due_is_a_decision_by_its_constants(counted, constants):
    built = graph(counted)
    assert list(decisions(built, built.nodes)) == ["due"]
    assert deciding_constants(built, built.nodes) == {"hundred", "zero", *constants}
    assert decisions(built, {"rest"}) == {}


def test_what_depends_on_data_is_none():
    built = graph("labels", "labels = Placeholder()", labels={"dtype": tf.int64})
    assert not decisions(built, built.nodes)
    mixed = "labels = Placeholder()\nsum = Add(read, labels)"
    assert not decisions(graph("sum", mixed, labels={"dtype": tf.int64}, sum=INT), ["due"])


def test_what_no_counter_is_in_or_what_is_no_whole_number_is_none():
    assert not decisions(graph("one"), ["due"])
    assert not decisions(graph("read", read=FLOAT), ["due"])


def test_a_period_is_what_a_remainder_divides_by():
    built = graph(others="above = Greater(read, hundred)")
    assert is_period(graph(), ["hundred"]) and not is_period(graph(), ["zero"])
    assert not is_period(built, ["hundred"]) and not is_period(graph_of("hundred = Const()"), ["hundred"])
    assert np.array_equal(sorted(deciding_constants(graph(), ["due"])), ["hundred", "zero"])
