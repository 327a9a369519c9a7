"""Boundaries of schedules among the whole numbers of a graph, and numbers that are none."""

import pytest

from parity.coverage.graph.boundaries import is_beside_period, is_boundary, only_changes_rates
from tests.legacy.saved.graphs import graph_of

GRAPH = """
step = VariableV2()
read = Identity(step)
six = Const()
one = Const()
ten = Const()
{count}
late = GreaterEqual(count, six)
rate = Select(late, one, ten)
train = ApplyGradientDescent(step, rate)
{others}
"""


#: A constant that was moved out of control dependencies: an Identity is in its place.
MOVED = "moved = Identity(one)\ncount = AssignAdd(step, moved)"


def _graph(count="count = Cast(read)", others=""):
    return graph_of(GRAPH.format(count=count, others=others))


@pytest.mark.parametrize(
    "count", ["count = Cast(read)", "count = Add(read, one)", "count = AssignAdd(step, one)", MOVED]
)
def test_a_number_that_a_counter_is_compared_with_is_a_boundary(count):
    assert is_boundary(_graph(count), ["six"])


@pytest.mark.parametrize(
    "count",
    ["count = FloorMod(read, ten)", "count = Mul(read, ten)", "count = Placeholder()", "count = Add(read, read)"],
)
def test_a_number_that_something_else_is_compared_with_is_none(count):
    assert not is_boundary(_graph(count), ["six"])


def test_a_number_that_is_computed_with_is_none():
    assert not is_boundary(_graph(others="more = Add(six, one)"), ["six"])


def test_a_number_that_nothing_reads_is_none():
    assert not is_boundary(graph_of("six = Const()"), ["six"])


def test_a_boundary_may_choose_more_than_a_rate():
    ends = {"rate", "train"}
    assert only_changes_rates(_graph(), ["six"], ["rate"], ends)
    clipped = _graph(others="clipped = Select(late, one, ten)")
    assert not only_changes_rates(clipped, ["six"], ["rate"], {*ends, "clipped"})


PERIOD = "rest = FloorMod(count, ten)\ndue = Equal(rest, one)\n"


@pytest.mark.parametrize(
    "others, expected",
    [
        (PERIOD + "both = LogicalAnd(late, due)", False),  # a rate is chosen by the boundary alone, too
        (PERIOD, False),
        ("due = Less(count, ten)\nboth = LogicalAnd(late, due)", False),
    ],
)
def test_a_boundary_that_more_depends_on_is_not_only_beside_a_period(others, expected):
    assert is_beside_period(_graph(others=others), ["six"]) is expected


@pytest.mark.parametrize("both", ["LogicalAnd(late, due)", "LogicalAnd(due, late)"])
def test_a_boundary_may_only_matter_at_every_nth_step(both):
    graph = graph_of(
        "step = VariableV2()\nsix = Const()\nten = Const()\nlate = GreaterEqual(step, six)\n"
        f"rest = FloorMod(step, ten)\ndue = Cast(rest)\nboth = {both}\n"
    )
    assert is_beside_period(graph, ["six"]) and not is_beside_period(graph, ["ten"])
