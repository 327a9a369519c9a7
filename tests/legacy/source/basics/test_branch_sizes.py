"""Choices between values of different sizes: settled where sizes decide, and kept apart where numbers do."""

import pytest
import tensorflow as tf

from legacy.source.basics.branch_sizes import APART, keep_apart, may_differ, take_known_branches, with_merges
from legacy.source.basics.branches import merge_branches
from legacy.source.basics.typed import Typed
from tests.legacy.source.basics.test_branches import graph_of
from tests.legacy.source.conditional import with_old_cond
from workloads.support.errors import InputError

v1 = tf.compat.v1


def chosen(taken, other):
    """The typed graph of a choice by x[0] of `taken(x)` or `other(x)`."""
    return Typed(
        merge_branches(graph_of(lambda x: v1.cond(x[0] > 0.0, lambda: taken(x), lambda: other(x)))), {"x": [2]}
    )


def marked(typed):
    return [op.name for op in typed.operations() if APART in op.node_def.attr]


def test_values_of_different_sizes_are_kept_apart_and_leave_the_size_open():
    for other in (lambda x: x[:1], lambda x: tf.boolean_mask(x, x > 0.5)):
        typed = chosen(lambda x: x * 2.0, other)
        assert len(marked(typed)) == 1
        assert typed.graph.get_tensor_by_name("result:0").shape.as_list() == [None]


def test_values_of_one_size_are_a_plain_choice():
    typed = chosen(lambda x: x * 2.0, lambda x: x + 1.0)
    assert not marked(typed)
    assert typed.graph.get_tensor_by_name("result:0").shape == [2]


def test_only_the_choice_whose_values_differ_is_marked():
    def build(x):
        shorter = v1.cond(x[0] > 0.0, lambda: x * 2.0, lambda: x[:1])
        return tf.reduce_sum(shorter) * v1.cond(x[1] > 0.0, lambda: x, lambda: -x)

    typed = Typed(merge_branches(graph_of(build)), {"x": [2]})
    assert len(marked(typed)) == 1
    assert typed.graph.get_tensor_by_name("result:0").shape == [2]


def test_merges_have_the_sizes_that_both_values_have():
    graph_def = merge_branches(graph_of(lambda x: v1.cond(x[0] > 0.0, lambda: x * 2.0, lambda: x[:1])))
    with tf.Graph().as_default() as merges:
        tf.import_graph_def(with_merges(graph_def), name="")
    with tf.Graph().as_default() as plain:
        tf.import_graph_def(graph_def, name="")
    assert may_differ(plain)
    assert not take_known_branches(graph_def, lambda merged: {})
    keep_apart(graph_def, merges)
    copies = [node for node in graph_def.node if node.op == "PlaceholderWithDefault"]
    assert len(copies) == 2
    assert all(dim.size == -1 for node in copies for dim in node.attr["shape"].shape.dim)


@with_old_cond
def gathered(columns):
    """A choice by the number of columns of x [2], of which one branch takes no such x."""

    def build(x):
        return v1.cond(tf.equal(columns(x), 1), lambda: tf.gather_nd(x, [[0, 0]]), lambda: x * 2.0)

    with tf.Graph().as_default() as graph:
        build(v1.placeholder(tf.float32, None, "x"))
    return merge_branches(graph.as_graph_def())


def test_a_branch_that_does_not_go_with_the_sizes_is_removed_where_they_say_that_it_is_not_taken():
    typed = Typed(gathered(tf.size), {"x": [2]})
    assert not [op for op in typed.operations() if op.type == "GatherNd"]
    assert typed.graph.get_tensor_by_name("cond/Merge:0").shape == [2]


def test_a_branch_that_does_not_go_with_the_sizes_is_refused_where_numbers_decide():
    with pytest.raises(InputError, match="does not take this graph"):
        Typed(gathered(lambda x: tf.cast(x[0], tf.int32)), {"x": [2]})
