"""Gradients to activations in a graph that `tf.gradients` made, beside those that it makes when it is asked."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.tensors.activation_gradients import activation_gradients

v1 = tf.compat.v1


def test_the_graphs_own_gradients_are_those_that_are_made_anew():
    with tf.Graph().as_default() as graph:
        x = tf.constant([[1.0, -2.0], [3.0, 4.0]], name="x")
        w = v1.placeholder_with_default([[0.5, 1.0], [-1.0, 2.0]], [2, 2], name="w")
        product = tf.matmul(x, w, name="product")
        both = tf.add(tf.nn.relu(product, name="relu"), tf.tanh(product, name="tanh"), name="both")
        loss = tf.reduce_sum(tf.square(both, name="square"), name="loss")
        (gradient,) = v1.gradients(loss, [w])
        names = ["product", "relu", "tanh", "both", "square", "loss"]
        tensors = [TensorId(name, 0) for name in names]
        found = activation_gradients(Graph(graph.as_graph_def()), tensors, [gradient.name])
        anew = v1.gradients(loss, [graph.get_tensor_by_name(t.name) for t in tensors])
        with v1.Session() as session:
            own, new = session.run([{t: found[t] for t in found}, dict(zip(tensors, anew))])
    assert set(tensors) - set(found) == {TensorId("both", 0)}  # a sum hands its gradient on, without an op
    for tensor, value in own.items():
        np.testing.assert_array_equal(value, new[tensor])


def test_an_op_without_gradient_ops_has_none():
    with tf.Graph().as_default() as graph:
        w = v1.placeholder(tf.float32, [2], name="w")
        stopped = tf.stop_gradient(tf.exp(w, name="exp"), name="stopped")
        (gradient,) = v1.gradients(tf.reduce_sum(stopped * w), [w])
    tensors = [TensorId("stopped", 0), TensorId("exp", 0)]
    assert activation_gradients(Graph(graph.as_graph_def()), tensors, [gradient.name]) == {}


def test_an_op_with_two_outputs_in_use_is_left_out():
    with tf.Graph().as_default() as graph:
        w = v1.placeholder(tf.float32, [2], name="w")
        first, second = tf.split(tf.exp(w, name="exp"), 2, name="halves")
        (gradient,) = v1.gradients(tf.reduce_sum(tf.square(first) + tf.tanh(second)), [w])
    graph = Graph(graph.as_graph_def())
    found = activation_gradients(graph, [TensorId("halves", 0), TensorId("halves", 1)], [gradient.name])
    assert found == {}
