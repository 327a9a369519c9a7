"""Tensors of a forward pass that a step can hand out, in small graphs."""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf

from tests.small_lift import small_graph, small_plan
from workloads.lifted.graph import Graph
from workloads.lifted.plan import Noise
from workloads.lifted.tensors.forward_pass import boundary_nodes, forward_tensors

v1 = tf.compat.v1


def graph_of(build: Callable[[tf.Tensor, tf.Variable], tf.Tensor]) -> Graph:
    """The graph of a loss of the input x0 and the weight w."""
    with tf.Graph().as_default() as graph, v1.variable_scope("", use_resource=False):
        v1.disable_control_flow_v2()
        w = v1.get_variable("w", [2, 2], initializer=v1.zeros_initializer())
        tf.identity(build(v1.placeholder(tf.float32, [2, 2], name="x0"), w), name="loss0")
    return Graph(graph.as_graph_def())


def names(graph: Graph) -> list[str]:
    plan = small_plan()
    plan.inputs[0].tensors = ["x0:0"]
    return [tensor.name for tensor in forward_tensors(plan, graph, ["loss0:0"])]


def test_a_forward_pass_begins_at_inputs_and_variables():
    plan, graph = small_plan(), small_graph()
    assert boundary_nodes(plan) == {"x0", "x1", "w", "w/read"}
    product = next(name for name in graph.nodes if name.startswith("mul"))
    assert [tensor.node for tensor in forward_tensors(plan, graph, ["loss0:0"])] == [product, "loss0"]


def test_integers_and_constants_are_left_out():
    def build(x, w):
        count = tf.cast(tf.reduce_sum(tf.cast(x, tf.int32, name="whole"), name="total"), tf.float32, name="count")
        return tf.reduce_sum(x * tf.exp(tf.constant(1.0), name="constant")) / count

    found = names(graph_of(build))
    assert {"count:0", "loss0:0"} <= set(found)
    assert not {"constant:0", "whole:0", "total:0"} & set(found)


def test_views_of_a_variable_are_left_out_and_what_is_made_of_them_is_not():
    found = names(graph_of(lambda x, w: tf.reduce_sum(tf.reshape(w, [4], name="view") * 2.0, name="penalty")))
    assert "view:0" not in found and {"penalty:0", "loss0:0"} <= set(found)


def test_tensors_in_branches_are_left_out_and_their_results_are_not():
    def build(x, w):
        return v1.cond(tf.reduce_sum(x) > 0, lambda: tf.square(x, name="square"), lambda: x, name="choice")

    found = names(graph_of(build))
    assert "choice/Merge:0" in found and not any("square" in name for name in found)


def test_an_output_that_nothing_uses_is_left_out():
    found = names(graph_of(lambda x, w: tf.add(*tf.split(x, 2, name="halves"), name="both")))
    assert {"halves:0", "halves:1", "both:0"} <= set(found)
    found = names(graph_of(lambda x, w: tf.split(x, 2, name="halves")[0]))
    assert "halves:0" in found and "halves:1" not in found


def test_random_numbers_are_a_beginning_that_is_shown():
    plan = small_plan()
    plan.noise = [Noise("noise", "RandomUniform", "keyed", ["noise/RandomUniform"])]
    graph = graph_of(lambda x, w: tf.random.uniform([2], name="noise") * 2.0)
    assert "noise/RandomUniform:0" in [t.name for t in forward_tensors(plan, graph, ["loss0:0"])]
