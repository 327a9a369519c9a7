"""Concatenations of TensorFlow 0.12 and of later versions."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph.joins import inputs_of_join, join_of, joined_parts
from legacy.saved.hazards.basics.cross_entropies import filled
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def old(parts, axis):
    return tf.raw_ops.Concat(concat_dim=axis, values=parts, name="joined")


def new(parts, axis):
    return tf.concat(parts, axis, name="joined")


@pytest.mark.parametrize("join", [old, new])
def test_parts_and_axis_of_a_concatenation(join):
    graph = traced(lambda: join([v1.placeholder(tf.float32, [2, 3], name) for name in "xyz"], 1))
    found = join_of(graph, "joined")
    assert [part.node for part in found.parts] == list("xyz") == [part.node for part in joined_parts(graph, "joined")]
    assert int(tf.make_ndarray(graph.nodes[found.axis.node].attr["value"].tensor)) == 1


def test_other_parts_are_joined_along_the_same_axis():
    for join, expected in ((old, ["axis", "a", "b"]), (new, ["a", "b", "axis"])):

        def build(join=join):
            join([v1.placeholder(tf.float32, [2, 3], name) for name in "xyz"], tf.constant(1, name="axis"))

        assert inputs_of_join(traced(build), "joined", ["a", "b"]) == expected


def test_other_ops_join_nothing_along_an_axis():
    graph = traced(lambda: tf.stack([v1.placeholder(tf.float32, [2], name) for name in "xy"], name="joined"))
    assert join_of(graph, "joined") is None and joined_parts(graph, "joined") == []


@pytest.mark.parametrize("join", [old, new])
@pytest.mark.parametrize("second, number", [(1.0, 1.0), (0.5, None)])
def test_parts_of_one_number_are_that_number(join, second, number):
    x = {"x": None}

    def build():
        x["x"] = v1.placeholder(tf.float32, [None, 3], "x")
        rows = tf.shape(x["x"])[:1]
        join([tf.fill(rows, 1.0), tf.fill(rows, second)], 0)

    assert filled(WholeGraph(saved(traced(build))), "joined") == number
