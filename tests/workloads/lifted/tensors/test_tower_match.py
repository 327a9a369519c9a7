"""Towers that are built alike, under other names or with a copy more, and one that is built otherwise."""

from __future__ import annotations

import tensorflow as tf

from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.tensors.tower_match import match_tower

v1 = tf.compat.v1


def matched(second: str) -> dict[str, str]:
    with tf.Graph().as_default() as graph:
        for tower in ("a", second):
            x = v1.placeholder(tf.float32, [2], name=f"x_{tower}")
            y = tf.tanh(x, name=f"y_{tower}") if tower != "other" else tf.exp(x, name=f"y_{tower}")
            y = tf.identity(y, name="copy") if tower == "copied" else y
            tf.reduce_sum(y * 2.0, name=f"loss_{tower}")
    ends = [(TensorId("loss_a", 0), TensorId(f"loss_{second}", 0))]
    found = match_tower(Graph(graph.as_graph_def()), ends, {"x_a"})
    return {one.node: other.node for one, other in found.items()}


def test_equal_towers_match_as_a_whole():
    found = matched("b")
    assert found["loss_a"] == "loss_b" and found["y_a"] == "y_b" and found["x_a"] == "x_b"


def test_a_copy_that_one_tower_makes_is_passed():
    assert matched("copied")["y_a"] == "y_copied"


def test_what_lies_before_another_op_does_not_match():
    found = matched("other")
    assert found["loss_a"] == "loss_other" and "y_a" not in found and "x_a" not in found


def test_another_output_of_an_op_does_not_match():
    with tf.Graph().as_default() as graph:
        for tower in "ab":
            tf.split(v1.placeholder(tf.float32, [2], name=f"x_{tower}"), 2, name=f"halves_{tower}")
    found = match_tower(Graph(graph.as_graph_def()), [(TensorId("halves_a", 0), TensorId("halves_b", 1))], {"x_a"})
    assert found == {}
