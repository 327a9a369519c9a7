"""Numbers that a graph takes from a static shape."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.context import Context
from legacy.saved.analysis.reduction.static_sizes import static_number
from tests.legacy.saved.graphs import traced
from workloads.lifted.graph import TensorId

v1 = tf.compat.v1


@pytest.mark.parametrize(
    "size, number, value",
    [
        (4, lambda x: v1.shape(x)[0], 4),
        (4, lambda x: tf.cast(v1.shape(x)[0], tf.float32), 4),
        (4, lambda x: tf.constant(0.5), 0.5),
        (4, lambda x: v1.shape(x)[1], None),
        (4, lambda x: v1.shape(x)[:1], None),
        (None, lambda x: v1.shape(x)[0], None),
    ],
)
def test_the_first_entry_of_a_constant_shape(size, number, value):
    def build():
        tf.identity(number(v1.placeholder(tf.float32, [size, 4], "x")), "number")

    context = Context(traced(build))
    assert static_number(context.graph, context.imported, TensorId("number", 0)) == value
