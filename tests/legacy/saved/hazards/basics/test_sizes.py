"""Numbers of elements that a graph computes from sizes, and other numbers."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.linear_signs import linear_signs
from legacy.saved.hazards.basics.sizes import is_number_of_elements
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def batch_times_height(x):
    batch, height, _ = tf.unstack(tf.shape(x))
    return tf.cast(batch * height * 2, tf.float32)


@pytest.mark.parametrize(
    "divisor, is_number",
    [
        (batch_times_height, True),
        (lambda x: tf.cast(tf.size(x), tf.float32), True),
        (lambda x: tf.cast(tf.reduce_prod(tf.shape(x)[1:]), tf.float32), True),
        (lambda x: tf.cast(tf.shape(x)[0] - 1, tf.float32), False),  # may be 0
        (lambda x: -tf.cast(tf.shape(x)[0] * -1, tf.float32), False),
        (lambda x: tf.reduce_sum(x), False),
        (lambda x: tf.constant(4.0), False),  # no size
    ],
)
def test_a_product_of_sizes_is_a_number_of_elements(divisor, is_number):
    def build():
        x = v1.placeholder(tf.float32, [None, None, 3], "x")
        tf.divide(tf.reduce_sum(x, name="total"), tf.identity(divisor(x), name="divisor"), name="mean")

    whole = WholeGraph(saved(traced(build)))
    assert is_number_of_elements(whole, "divisor") == is_number
    signs = linear_signs(whole, "mean")
    assert ("total" in signs) == (is_number or whole.value("divisor") is not None)
