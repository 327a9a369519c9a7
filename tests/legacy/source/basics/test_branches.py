"""Branches of 1.x's `cond` as choices: the same values on either side of the predicate."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.source.basics.branch_sizes import take_known_branches
from legacy.source.basics.branches import GUARDED, merge_branches
from legacy.source.basics.typed import Typed
from legacy.source.basics.unwritten import Unwritten

v1 = tf.compat.v1


def graph_of(build):
    """GraphDef of what `build` makes of `x` with branches of 1.x; its result is called `result`."""
    was_v2 = v1.control_flow_v2_enabled()
    v1.disable_control_flow_v2()
    try:
        with tf.Graph().as_default() as graph:
            tf.identity(build(v1.placeholder(tf.float32, [2], "x")), "result")
        return graph.as_graph_def()
    finally:
        (v1.enable_control_flow_v2 if was_v2 else v1.disable_control_flow_v2)()


def value(graph_def, x):
    with tf.Graph().as_default() as graph, v1.Session() as session:
        tf.import_graph_def(graph_def, name="")
        return session.run("result:0", {graph.get_tensor_by_name("x:0"): x}).tolist()


def test_a_choice_has_the_values_of_the_branches():
    graph_def = graph_of(lambda x: v1.cond(x[0] > 0.0, lambda: x * 2.0, lambda: x + 1.0))
    merged = merge_branches(graph_def)
    assert not {node.op for node in merged.node} & {"Switch", "Merge"}
    for x in (np.float32([1, 2]), np.float32([-1, 2])):
        assert value(merged, x) == value(graph_def, x)
    assert value(merged, np.float32([1, 2])) != value(merged, np.float32([-1, 2]))


def test_constants_of_branches_are_chosen_too():
    merged = merge_branches(graph_of(lambda x: v1.cond(x[0] > 0.0, lambda: tf.constant(4.0), lambda: tf.constant(2.0))))
    assert [value(merged, np.float32([sign, 0])) for sign in (1, -1)] == [4.0, 2.0]


def test_a_constant_of_a_branch_behind_an_assertion_is_chosen_by_its_own_predicate():
    """As of `tf.case` of 1.x in a branch, whose assertion that one condition holds is a `cond` of its own."""

    def inner(x):
        checked = v1.Assert(x[1] < 9.0, [x])
        with tf.control_dependencies([checked]):
            return v1.cond(x[1] > 1.0, lambda: tf.constant(4.0), lambda: tf.constant(2.0))

    graph_def = graph_of(lambda x: v1.cond(x[0] > 0.0, lambda: inner(x), lambda: tf.constant(1.0)))
    merged = merge_branches(graph_def)
    for x in ([1, 2], [1, 0], [-1, 2]):
        assert value(merged, np.float32(x)) == value(graph_def, np.float32(x))
    assert value(merged, np.float32([1, 2])) == 4.0


def test_an_assertion_that_a_predicate_waits_for_is_no_part_of_its_branches():
    """As of `tf.case` of 1.x, whose choices wait for an assertion on all conditions."""

    def inner(x):
        conditions = [x[1] > 1.0, x[1] < -1.0]
        with tf.control_dependencies([v1.Assert(tf.logical_not(tf.reduce_all(conditions)), [x])]):
            return v1.cond(
                conditions[0], lambda: x * 2.0, lambda: v1.cond(conditions[1], lambda: x * 3.0, lambda: x + 1.0)
            )

    graph_def = graph_of(lambda x: v1.cond(x[0] > 0.0, lambda: inner(x), lambda: x))
    merged = merge_branches(graph_def)
    values = [value(merged, np.float32(x)) for x in ([1, 2], [1, -2], [1, 0], [-1, 2])]
    assert values == [[2.0, 4.0], [3.0, -6.0], [2.0, 1.0], [-1.0, 2.0]]
    assert values == [value(graph_def, np.float32(x)) for x in ([1, 2], [1, -2], [1, 0], [-1, 2])]


def test_a_cond_in_a_cond_has_the_values_of_its_branches():
    def inner(x):
        """A choice by what the outer branch computes, with a constant and a value from outside of both."""
        doubled = x * 2.0
        return v1.cond(doubled[1] > 1.0, lambda: doubled + x, lambda: tf.constant([5.0, 7.0]))

    outer = lambda x: v1.cond(x[0] > 0.0, lambda: inner(x) - 1.0, lambda: v1.cond(x[1] > 0.0, lambda: x, lambda: -x))  # noqa: E731
    graph_def = graph_of(outer)
    merged = merge_branches(graph_def)
    assert [node.op for node in merged.node].count("SelectV2") == 3
    values = [value(merged, np.float32(x)) for x in ([1, 2], [1, -2], [-1, 2], [-1, -2])]
    assert values == [[2.0, 5.0], [4.0, 6.0], [-1.0, 2.0], [1.0, 2.0]]
    assert values == [value(graph_def, np.float32(x)) for x in ([1, 2], [1, -2], [-1, 2], [-1, -2])]


def cut_to_length(x):
    """As many numbers of another tensor as `x` has, if that is longer."""
    other = tf.range(5.0)
    fewer = tf.greater(tf.shape(other)[0], tf.shape(x)[0])
    return x + v1.cond(fewer, lambda: tf.slice(other, [0], [tf.shape(x)[0]]), lambda: other)


def test_a_branch_that_sizes_decide_may_have_another_size_than_the_other():
    """The sum of five and two numbers is no graph, though its branch is never taken."""
    merged = merge_branches(graph_of(cut_to_length))
    with pytest.raises(ValueError, match="Dimensions must be equal"), tf.Graph().as_default():
        tf.import_graph_def(merged, name="")
    assert Typed(merged, {"x": [2]}).graph.get_tensor_by_name("result:0").shape == [2]


def test_a_branch_that_numbers_decide_is_not_known():
    merged = merge_branches(graph_of(lambda x: v1.cond(x[0] > 0.0, lambda: x * 2.0, lambda: x + 1.0)))
    assert not take_known_branches(merged, lambda graph_def: Typed(graph_def, {"x": [2]}).constants)


def test_a_graph_without_branches_stays():
    graph_def = graph_of(lambda x: x * 2.0)
    assert merge_branches(graph_def) is graph_def


@pytest.mark.parametrize(
    "branch, guarded",
    [
        (lambda x: tf.math.log(x), [b"cond/Log"]),
        (lambda x: 1.0 / x, [b"cond/truediv"]),
        (lambda x: x / 4.0, []),
        (lambda x: v1.random_shuffle(x, seed=3), [b"cond/RandomShuffle"]),  # as often as the branch was taken
    ],
)
def test_what_only_a_taken_branch_may_compute_is_guarded(branch, guarded):
    merged = merge_branches(graph_of(lambda x: v1.cond(x[0] > 0.0, lambda: branch(x), lambda: x / 2.0)))
    (choice,) = [node for node in merged.node if node.op == "SelectV2"]
    assert list(choice.attr[GUARDED].list.s) == guarded


@pytest.mark.parametrize(
    "decides, guarded", [(lambda x, keep: x[0] > 0.0, []), (lambda x, keep: keep > 0.0, [b"cond/truediv"])]
)
def test_a_division_by_a_setting_is_finite_unless_the_setting_decides(decides, guarded):
    """As of a dropout in a branch of a static RNN, which is taken while there are words."""

    def build(x):
        keep = v1.placeholder(tf.float32, [], "keep")
        return v1.cond(decides(x, keep), lambda: x / (1.0 - (1.0 - keep)), lambda: x)

    def guarded_of(settings):
        merged = merge_branches(graph_of(build), settings)
        return next(list(node.attr[GUARDED].list.s) for node in merged.node if node.op == "SelectV2")

    assert guarded_of(["keep"]) == guarded
    assert guarded_of([]) == [b"cond/truediv"]


def test_the_branch_that_a_cond_took_is_refused():
    choice = lambda x: v1.cond(x[0] > 0.0, lambda: x, lambda: x / 2.0)  # noqa: E731
    graph_def = graph_of(choice)
    merge = next(node.name for node in graph_def.node if node.op == "Merge")
    next(node for node in graph_def.node if node.name == "result").input[0] = merge + ":1"
    with pytest.raises(Unwritten, match="it uses which branch 'cond/Merge' took"):
        merge_branches(graph_def)
