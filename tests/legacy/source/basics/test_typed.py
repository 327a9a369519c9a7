"""Sizes that a graph computes from constants without a static shape."""

import tensorflow as tf

from legacy.source.basics.typed import Typed

v1 = tf.compat.v1


def typed(build):
    with tf.Graph().as_default() as graph:
        build()
    return Typed(graph.as_graph_def(), {})


def test_sizes_of_a_set_difference_are_constants_and_give_static_shapes():
    """As `tf.tensordot` of 1.x computes them."""

    def build():
        x = v1.placeholder(tf.float32, [3, 5, 16], "x")
        free = tf.raw_ops.ListDiff(x=[0, 1, 2], y=[2], name="free").out
        order = tf.concat([free, [2]], 0, name="order")
        y = tf.raw_ops.Transpose(x=x, perm=order)
        tf.reshape(y, tf.concat([tf.gather(tf.shape(y), free), [4, 4]], 0), name="split")

    found = typed(build)
    assert found.constants["order:0"].tolist() == [0, 1, 2]
    assert found.graph.get_tensor_by_name("split:0").shape.as_list() == [3, 5, 4, 4]


def test_open_sizes_of_data_stay_open():
    def build():
        x = v1.placeholder(tf.int32, [None], "x")
        tf.raw_ops.ListDiff(x=x, y=[2], name="free")

    assert "free:0" not in typed(build).constants
