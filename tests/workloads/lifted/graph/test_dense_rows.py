"""Rows of a sparse gradient that a graph adds up."""

import tensorflow as tf

from workloads.lifted.graph import Graph, made_dense

v1 = tf.compat.v1


def test_rows_are_found_as_the_tensor_that_they_are_added_up_to():
    with tf.Graph().as_default() as graph:
        rows, indices = v1.placeholder(tf.float32, [2, 3], "rows"), v1.placeholder(tf.int32, [2], "indices")
        tf.math.unsorted_segment_sum(rows, indices, 5, name="dense")
        tf.square(v1.placeholder(tf.float32, [3], "other"))
    index = Graph(graph.as_graph_def())
    assert made_dense(index, "rows:0") == "dense:0"
    assert made_dense(index, "other:0") == "other:0" and made_dense(index, "indices:0") == "indices:0"
