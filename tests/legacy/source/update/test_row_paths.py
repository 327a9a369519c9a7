"""How the rows of all towers are averaged, in words of a source."""

import pytest
import tensorflow as tf

from legacy.source.update.row_paths import rows_scaled
from workloads.lifted.graph import Graph
from workloads.lifted.plan import Combine


@pytest.fixture(scope="module")
def graph():
    """Rows that are divided, multiplied and rounded."""
    with tf.Graph().as_default() as made:
        rows = tf.compat.v1.placeholder(tf.float32, [None, 2], "rows")
        tf.truediv(rows, 3.0, name="divided")
        tf.multiply(rows, 1 / 3, name="multiplied")
        tf.math.rint(rows, name="rounded")
    return Graph(made.as_graph_def())


@pytest.mark.parametrize(
    "kind, tensor, scale, towers, text",
    [
        ("concat", "rows:0", 1.0, 3, ""),
        ("concat", "divided:0", 1 / 3, 3, " / len(slices)"),
        ("concat", "divided:0", 1 / 2, 2, " * (1.0 / len(slices))"),  # the bits of a division
        ("concat", "multiplied:0", 1 / 3, 3, " * (1.0 / len(slices))"),
        ("concat", "divided:0", 1 / 3, 2, None),  # another number than that of the towers
        ("concat", "rounded:0", 1 / 3, 3, None),
        ("mean", "rows:0", 1.0, 3, None),
    ],
)
def test_rows_are_averaged_as_the_graph_does_it(graph, kind, tensor, scale, towers, text):
    assert rows_scaled(graph, Combine("w", kind, tensor, scale, []), towers) == text
