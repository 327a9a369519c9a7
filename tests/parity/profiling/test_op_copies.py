"""Copies of ops on made-up values."""

import pytest
import tensorflow as tf

from parity.prediction.this_machine import op_timing
from parity.profiling.op_copies import FloorUnknown, stand_in

v1 = tf.compat.v1


def test_what_only_gpu_kernels_use_is_empty():
    with tf.Graph().as_default():
        image, channels = (v1.placeholder(tf.float32, shape) for shape in ((2, 4, 4, 8), (8,)))
        results = tf.raw_ops.FusedBatchNormV3(x=image, scale=channels, offset=channels, mean=[], variance=[])
        assert stand_in(results.reserve_space_3, {}, "").shape == (0,)
        unknown = v1.placeholder(tf.float32)
        with pytest.raises(FloorUnknown, match="its shape <unknown> is not known"):
            stand_in(unknown, {}, "")


def test_the_gradient_of_batch_normalization_is_run_by_itself():
    with tf.Graph().as_default():
        image, channels = (v1.placeholder(tf.float32, shape) for shape in ((2, 4, 4, 8), (8,)))
        results = tf.raw_ops.FusedBatchNormV3(x=image, scale=channels, offset=channels, mean=[], variance=[])
        gradient = tf.gradients(results.y, image)[0]
    assert gradient.op.type == "FusedBatchNormGradV3"
    assert op_timing.seconds_of_op(gradient.op) >= op_timing.LEAST


def test_copies_of_an_op_share_their_values_of_whole_numbers():
    with tf.Graph().as_default():
        rows = v1.placeholder(tf.int32, (4,))
        gathered = tf.raw_ops.GatherV2(params=v1.placeholder(tf.float32, (8, 2)), indices=rows, axis=0)
    assert op_timing.seconds_of_op(gathered.op, width=2) >= op_timing.LEAST
