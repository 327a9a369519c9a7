"""Sizes that a graph computes from constants without a static shape."""

import tensorflow as tf

from legacy.source.basics.typed import Typed
from tests.legacy.source.conditional import with_old_cond

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


def stacked(make_array):
    """The static shape of all elements of a tensor array of vectors of two numbers."""

    def build():
        array = make_array(v1.placeholder(tf.float32, [5, 2], "x"))
        size = tf.raw_ops.TensorArraySizeV3(handle=array.handle, flow_in=array.flow, name="size")
        places = tf.range(0, size, name="places")
        tf.raw_ops.TensorArrayGatherV3(
            handle=array.handle, indices=places, flow_in=array.flow, dtype=tf.float32, name="all", element_shape=[2]
        )

    found = typed(with_old_cond(build))
    return found.graph.get_tensor_by_name("all:0").shape.as_list(), found.constants.get("size:0")


def test_a_tensor_array_keeps_the_size_that_it_is_made_with():
    """As that of an RNN's outputs, whose last step is taken off, and whose number tells a CRF which branch it takes."""
    shape, size = stacked(lambda x: v1.TensorArray(tf.float32, tf.shape(x)[0], element_shape=[2]).unstack(x))
    assert (shape, size) == ([5, 2], 5)


def test_a_tensor_array_that_may_grow_has_no_known_size():
    shape, size = stacked(lambda x: v1.TensorArray(tf.float32, 1, dynamic_size=True, element_shape=[2]).unstack(x))
    assert (shape, size) == ([None, 2], None)
