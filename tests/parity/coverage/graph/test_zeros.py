"""What is only multiplied by zero changes nothing, and the rest does."""

import tensorflow as tf

from parity.coverage.graph.zeros import find_zeros, reaches
from workloads.lifted.graph import Graph

v1 = tf.compat.v1


def made():
    """cell * sigmoid(f + bias) with a cell of zeros, its gradient, and a second bias that is added."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2], name="x")
        cell = tf.constant([0.0, 0.0], name="cell")
        gate = tf.sigmoid(tf.add(x, tf.constant(1.0, name="bias")), name="gate")
        kept = tf.multiply(cell, gate, name="kept")
        back = tf.raw_ops.SigmoidGrad(y=gate, dy=tf.multiply(x, cell), name="back")
        tf.add(kept + back, tf.constant(2.0, name="added"), name="out")
    return Graph(graph.as_graph_def())


def test_a_bias_before_a_product_with_zero_does_not_reach_the_result():
    graph = made()
    zeros = find_zeros(graph, graph.nodes, lambda name: name == "cell")
    assert {"kept", "back"} <= zeros and "gate" not in zeros and "out" not in zeros
    assert not reaches(graph, ["bias"], {"out"}, zeros)
    assert reaches(graph, ["added"], {"out"}, zeros)


def test_it_does_where_the_factor_is_not_zero():
    assert reaches(made(), ["bias"], {"out"}, find_zeros(made(), ["cell"], lambda name: False))
