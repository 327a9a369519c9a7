"""Columns of a table, behind slices, joins and splits."""

import pytest
import tensorflow as tf

from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.hazards.data.columns.columns import columns_of
from tests.legacy.saved.graphs import traced
from workloads.lifted.graph import TensorId

v1 = tf.compat.v1


@pytest.mark.parametrize(
    "change, places",
    [
        (lambda x: x, [0, 1, 2, 3]),
        (lambda x: x[:, 1:3], [1, 2]),
        (lambda x: x[:, ::2] * 2.0, [0, 2]),
        (lambda x: x[:, -1], [3]),
        (lambda x: tf.concat([x[:, 2:], x[:, :1] + x[:, :1]], 1), [2, 3, None]),
        (lambda x: tf.split(x, 2, 1)[1], [2, 3]),
        (lambda x: x[0], [None]),
        (lambda x: x * [0.0, 1.0, 1.0, 1.0], [None] * 4),
    ],
)
def test_places_in_the_table(change, places):
    graph = traced(lambda: tf.identity(change(v1.placeholder(tf.float32, [8, 4], "x")), name="y"))
    found = columns_of(graph, ImportedGraph(graph), TensorId("y", 0))
    assert [one and one.place for one in found] == places


def test_parts_of_the_rows_are_told_apart():
    graph = traced(lambda: [tf.identity(part) for part in tf.split(v1.placeholder(tf.float32, [8, 4], "x"), 2)])
    first, second = (columns_of(graph, ImportedGraph(graph), TensorId(name, 0)) for name in ("Identity", "Identity_1"))
    assert first[0].place == second[0].place and first[0] != second[0]
