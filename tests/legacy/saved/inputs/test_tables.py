"""Inputs whose rows are gathered, which are tables and no batches."""

import pytest
import tensorflow as tf

from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.inputs.description import InputDescriber, batch_size
from legacy.saved.inputs.tables import is_table
from tests.legacy.saved.graphs import traced
from workloads.lifted.graph import TensorId

v1 = tf.compat.v1


def build():
    words = v1.placeholder(tf.int32, [3, None], name="words")
    for name in ("fed", "joined", "columns", "summed"):
        v1.placeholder(tf.float32, [None, 5], name=name)
    fed, joined, columns, summed = (
        v1.get_default_graph().get_tensor_by_name(name + ":0") for name in ("fed", "joined", "columns", "summed")
    )
    tf.gather(tf.identity(fed), words)
    tf.shape(fed)
    tf.gather(tf.concat([tf.zeros([4, 5]), joined], 0), words)
    tf.gather(tf.concat([tf.zeros([4, 5]), columns], 1), words)
    tf.gather(summed, words)
    tf.reduce_sum(summed)
    parts = tf.split(v1.placeholder(tf.float32, [6, 5], name="shared_out"), 2, name="parts")
    tf.gather(parts[0], words)  # as boxes that a detector keeps


GRAPH = traced(build)
IMPORTED = ImportedGraph(GRAPH)


@pytest.mark.parametrize(
    "name, expected",
    [("fed", True), ("joined", True), ("columns", False), ("summed", False), ("words", False), ("parts", False)],
)
def test_a_table_is_an_input_that_nothing_but_gathers_of_its_rows_uses(name, expected):
    assert is_table(GRAPH, IMPORTED, TensorId(name, 0)) == expected


@pytest.mark.parametrize("table, batch, kind", [("joined", 3, "whole"), ("summed", None, "batch")])
def test_rows_of_a_table_are_no_examples(table, batch, kind):
    rows = [[TensorId("words", 0)], [TensorId(table, 0)]]
    assert batch_size(GRAPH, IMPORTED, rows) == batch
    _, described = InputDescriber(GRAPH, IMPORTED, {}, batch).describe(rows)
    assert described.kind == kind
