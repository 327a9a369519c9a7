"""Branches of a `cond` on graphs of a few nodes."""

import doctest

from legacy.saved.graph import conditions
from tests.legacy.saved.graphs import graph_of

COND = """
    p = Placeholder()
    x = Const()
    switch = Switch(x, p)
    up = AssignAdd(switch:1)
    down = AssignSub(switch)
    other = Switch(x, q)
    q = Placeholder()
    elsewhere = Neg(other)
    pivot = Identity(switch:1, ^up)
    merge = Merge(pivot, switch)
    behind = Neg(merge)
    """


def test_examples():
    assert doctest.testmod(conditions).failed == 0


def test_opposite_branches_exclude_each_other():
    graph = graph_of(COND)
    assert conditions.exclude_each_other(graph, "up", "down")
    assert not conditions.exclude_each_other(graph, "up", "pivot")
    assert not conditions.exclude_each_other(graph, "up", "elsewhere")
    assert not conditions.exclude_each_other(graph, "up", "behind")


def test_what_runs_after_a_branch_in_any_case():
    graph = graph_of(COND)
    assert conditions.after_the_branch(graph, "up") == "merge"
    assert conditions.after_the_branch(graph, "elsewhere") is None
