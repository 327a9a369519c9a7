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


def test_what_runs_behind_a_nested_branch_is_behind_the_outer_one():
    """The inner Merge does not run where the outer branch is not taken."""
    graph = graph_of(NESTED)
    assert [conditions.after_the_branch(graph, name) for name in ("raised", "behind_inner")] == ["merge", "merge"]


#: A `cond` in the true branch of another, whose false branch reads x too.
NESTED = """
    p = Placeholder()
    q = Placeholder()
    x = Const()
    outer = Switch(x, p)
    step = AssignAdd(outer:1)
    inner = Switch(outer:1, q)
    raised = AssignAdd(inner:1, ^step)
    kept = Identity(inner)
    inner_merge = Merge(kept, raised)
    behind_inner = Neg(inner_merge)
    lowered = AssignSub(outer)
    merge = Merge(lowered, behind_inner)
    behind = Neg(merge)
    read = Identity(x)
    into_one = Switch(read, p)
    used = Neg(into_one:1)
    """


def branches(name):
    return [
        [(branch.predicate.node, branch.value) for branch in level]
        for level in conditions.enclosing_conditions(graph_of(NESTED), name)
    ]


def test_the_branches_of_a_node_are_told_apart_by_depth():
    assert branches("raised") == [[("p", 1)], [("q", 1)]], "though it waits for a node of the outer branch, too"
    assert branches("behind_inner") == [[("p", 1)]]
    assert branches("behind") == branches("x") == []


def test_a_constant_outside_of_its_branch_does_not_keep_what_follows_in_the_other_one():
    """As the shape that `tf.gradients` of 1.x gives the rows of a lookup in a branch."""
    graph = graph_of("""
        p = Placeholder()
        q = Placeholder()
        x = Const()
        outer = Switch(x, p)
        inner = Switch(outer:1, q)
        zeros = Neg(inner)
        shape = Const()
        merge = Merge(zeros, shape)
        behind = Neg(merge)
        """)
    levels = conditions.enclosing_conditions(graph, "behind")
    assert [[(branch.predicate.node, branch.value) for branch in level] for level in levels] == [[("p", 1)]]
    assert len(conditions.enclosing_conditions(graph, "zeros")) == 2


def test_a_loop_in_a_branch_stays_in_it():
    graph = graph_of("""
        p = Placeholder()
        x = Const()
        switch = Switch(x, p)
        enter = Enter(switch:1)
        merge = Merge(enter, next)
        next = NextIteration(merge)
        """)
    assert len(conditions.enclosing_conditions(graph, "merge")) == 1


def test_what_lies_behind_an_inner_cond_is_in_the_outer_branch():
    graph = graph_of(NESTED)
    assert conditions.exclude_each_other(graph, "lowered", "behind_inner")
    assert conditions.exclude_each_other(graph, "lowered", "inner_merge")
    assert not conditions.exclude_each_other(graph, "lowered", "behind")


def test_a_switch_that_lets_a_value_into_one_branch_runs_for_that_branch():
    graph = graph_of(NESTED)
    assert conditions.exclude_each_other(graph, "lowered", "into_one")
    assert not conditions.exclude_each_other(graph, "lowered", "outer"), "both branches use what it lets in"
    assert not conditions.exclude_each_other(graph, "lowered", "read")
