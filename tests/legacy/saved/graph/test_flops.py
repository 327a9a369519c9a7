"""Floating-point operations of products, counted by hand."""

import pytest
import tensorflow as tf

from legacy.saved.graph.flops import count_flops
from tests.legacy.saved.graphs import traced

v1 = tf.compat.v1


def placeholder(shape):
    return v1.placeholder(tf.float32, shape)


@pytest.mark.parametrize(
    "build, flops",
    [
        (lambda: tf.matmul(placeholder([2, 3]), placeholder([3, 5]), name="op"), 2 * 2 * 5 * 3),
        (lambda: tf.matmul(placeholder([3, 2]), placeholder([3, 5]), True, name="op"), 2 * 2 * 5 * 3),
        (lambda: tf.matmul(placeholder([None, 3]), placeholder([3, 5]), name="op"), 2 * 1 * 5 * 3),
        (lambda: tf.matmul(placeholder([4, 2, 3]), placeholder([4, 3, 5]), name="op"), 2 * 4 * 2 * 5 * 3),
        (lambda: tf.matmul(placeholder(None), placeholder([3, 5]), name="op"), 0),
        # A 3x3 kernel from 2 to 4 channels, at each of 6x6 places.
        (
            lambda: tf.nn.conv2d(placeholder([1, 8, 8, 2]), placeholder([3, 3, 2, 4]), 1, "VALID", name="op"),
            2 * (6 * 6 * 4) * (3 * 3 * 2),
        ),
    ],
)
def test_products_and_convolutions(build, flops):
    assert count_flops(traced(build)) == {"op": flops}


def test_the_gradient_of_a_kernel_counts_by_the_kernel():
    def build():
        sizes = tf.constant([3, 3, 2, 4])
        tf.raw_ops.Conv2DBackpropFilter(
            input=placeholder([1, 8, 8, 2]),
            filter_sizes=sizes,
            out_backprop=placeholder([1, 6, 6, 4]),
            strides=[1, 1, 1, 1],
            padding="VALID",
            name="op",
        )

    assert count_flops(traced(build)) == {"op": 2 * (3 * 3 * 2 * 4) * (3 * 3 * 2)}


def test_other_ops_do_not_count():
    assert count_flops(traced(lambda: tf.tanh(placeholder([2])))) == {}
