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


def test_the_sums_of_each_index_that_an_optimizer_makes_are_no_dense_tensor():
    with tf.Graph().as_default() as graph:
        rows, indices = v1.placeholder(tf.float32, [2, 3], "rows"), v1.placeholder(tf.int32, [2], "indices")
        unique, places = tf.unique(indices)
        tf.math.unsorted_segment_sum(rows, places, tf.shape(unique)[0], name="summed")
    assert made_dense(Graph(graph.as_graph_def()), "rows:0") == "rows:0"
    with graph.as_default():  # beside it, all rows may be made dense, as where their norm is shown
        tf.math.unsorted_segment_sum(rows, indices, 5, name="dense")
    assert made_dense(Graph(graph.as_graph_def()), "rows:0") == "dense:0"
