"""Sizes that a graph computes from constants without a static shape."""

import pytest
import tensorflow as tf

from legacy.source.basics.branches import merge_branches
from legacy.source.basics.typed import Typed
from tests.legacy.source.conditional import with_old_cond
from workloads.support.errors import InputError

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


@with_old_cond
def last_of_all(make_array):
    """A choice by the number of elements of a tensor array of numbers, of which one branch takes but one."""
    with tf.Graph().as_default() as graph:
        array = make_array(v1.placeholder(tf.float32, [5], "x"))
        size = tf.raw_ops.TensorArraySizeV3(handle=array.handle, flow_in=array.flow, name="size")
        all_ = tf.raw_ops.TensorArrayGatherV3(
            handle=array.handle, indices=tf.range(0, size), flow_in=array.flow, dtype=tf.float32, element_shape=[]
        )
        known = v1.placeholder(tf.float32, None, "known")
        v1.cond(
            tf.equal(tf.shape(all_)[0], 1), lambda: tf.gather_nd(known, [[0, 0]]), lambda: known * tf.reduce_sum(all_)
        )
    return merge_branches(graph.as_graph_def())


def fixed_array(x):
    """As that of an RNN's outputs, whose number tells a CRF which branch it takes."""
    return v1.TensorArray(tf.float32, tf.shape(x)[0], element_shape=[]).unstack(x)


def test_the_size_that_a_tensor_array_keeps_decides_between_branches_and_is_no_other_constant():
    found = Typed(last_of_all(fixed_array), {"known": [5]})
    assert "GatherNd" not in {op.type for op in found.operations()}
    assert "size:0" not in found.constants  # the text asks the array


def test_a_tensor_array_that_may_grow_has_no_known_size():
    grows = last_of_all(lambda x: v1.TensorArray(tf.float32, 1, dynamic_size=True, element_shape=[]).unstack(x))
    with pytest.raises(InputError, match="does not take this graph"):
        Typed(grows, {"known": [5]})
