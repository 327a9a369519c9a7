"""Results of loops over the examples of a batch, over its units, and over something else."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.context import Context
from legacy.saved.analysis.reduction.loops_over_examples import has_row_per_example
from tests.legacy.saved.graphs import traced

v1 = tf.compat.v1


@pytest.mark.parametrize("batch", [None, 4])
@pytest.mark.parametrize(
    "rows, is_found",
    [
        (lambda x: tf.map_fn(tf.reduce_sum, x), True),
        (lambda x: tf.map_fn(tf.square, tf.nn.relu(x)), True),
        (lambda x: tf.map_fn(tf.reduce_sum, tf.transpose(x)), False),  # as times first
        (lambda x: tf.map_fn(lambda number: number * tf.reduce_sum(x), tf.range(3.0)), False),
        (lambda x: tf.reduce_sum(x, 1), False),
    ],
)
def test_a_loop_that_takes_examples_is_found(rows, is_found, batch):
    def build():
        tf.identity(rows(v1.placeholder(tf.float32, [batch, 3], "x")), "rows")

    context = Context(traced(build))
    last = context.graph.inputs("rows")[0].node
    assert has_row_per_example(context.graph, context.imported, last, batch) == is_found
