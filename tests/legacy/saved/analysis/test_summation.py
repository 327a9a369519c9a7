"""The most numbers that are added to one on the way to a tensor, on graphs of a few nodes."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.summation import longest_sum
from legacy.saved.graph.imported import ImportedGraph
from tests.legacy.saved.graphs import traced

v1 = tf.compat.v1


def program():
    """Adds a loss that is a mean of 4 x 600 numbers, and a gradient that is one of 100 rows."""
    x = v1.placeholder(tf.float32, [None, 600], "x")
    tf.reduce_mean(x * 2.0, name="loss")
    rows = v1.placeholder(tf.float32, [100, 3], "rows")
    tf.identity(tf.reduce_sum(rows, 0), name="gradient")
    tf.identity(rows, name="row")
    tf.fill(tf.shape(tf.reduce_mean(x, 1)), 1.0, name="ones")


@pytest.mark.parametrize(
    "tensor, batch, length",
    [("loss:0", 4, 2400), ("loss:0", None, 600), ("gradient:0", 4, 100), ("row:0", 4, 1), ("ones:0", 4, 1)],
)
def test_the_longest_sum_before_a_tensor(tensor, batch, length):
    """A dimension that is open is the tower's batch; what only gives a shape is not added up."""
    graph = traced(program)
    assert longest_sum(graph, ImportedGraph(graph), [tensor], batch) == length
