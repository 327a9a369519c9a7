"""The rows of an input that a tower computes with."""

import pytest
import tensorflow as tf

from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.tower_search.rows_used import rows_used
from tests.legacy.saved.graphs import traced
from workloads.lifted.graph import TensorId

v1 = tf.compat.v1


@pytest.mark.parametrize(
    "use, rows",
    [
        (lambda x: tf.tanh(x[:5]), 5),
        (lambda x: tf.tanh(tf.slice(x, [1, 0], [6, -1])), 6),
        (lambda x: tf.tanh(x), 8),
        (lambda x: (tf.tanh(x[:5]), tf.tanh(x)), 8),
        (lambda x: (tf.tanh(x[:5]), tf.tanh(x[5:])), 8),
        (lambda x: (tf.tanh(x[:5]), tf.shape(x)), 5),
        (lambda x: tf.tanh(x[0]), 8),
    ],
)
def test_rows_of_the_only_slice_are_those_that_are_used(use, rows):
    graph = traced(lambda: use(v1.placeholder(tf.float32, [8, 3], "x")))
    assert rows_used(graph, ImportedGraph(graph), TensorId("x", 0)) == rows
