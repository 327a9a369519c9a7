"""The rows of an input that a tower computes with."""

import pytest
import tensorflow as tf

from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.inputs.rows_used import rows_needed, rows_of_slice, rows_used
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


@pytest.mark.parametrize(
    "use, rows",
    [
        (lambda x: x[:5], range(5)),
        (lambda x: x[2:], range(2, 8)),
        (lambda x: x[::3], range(0, 8, 3)),
        (lambda x: x[:-1], range(7)),
        (lambda x: tf.slice(x, [1, 0], [-1, 3]), range(1, 8)),
        (lambda x: tf.slice(x, [1, 0], [2, 3]), range(1, 3)),
        (lambda x: x[3], None),  # a row
        (lambda x: x[..., :5], None),
        (lambda x: x[tf.newaxis, :5], None),
        (lambda x: x[: tf.cast(x[0, 0], tf.int32)], None),
        (lambda x: tf.tanh(x), None),
    ],
)
def test_the_rows_of_a_slice(use, rows):
    names = []
    graph = traced(lambda: names.append(use(v1.placeholder(tf.float32, [8, 3], "x")).op.name))
    taken = rows_of_slice(graph, ImportedGraph(graph), names[0])
    assert taken == (None if rows is None else set(rows))


@pytest.mark.parametrize(
    "use, rows",
    [
        (lambda x: (tf.tanh(x[:4]), tf.tanh(x[4:8])), 8),
        (lambda x: (tf.slice(x, [0, 0], [3, -1]), tf.slice(x, [3, 0], [3, -1]), tf.shape(x)), 6),
        (lambda x: (tf.tanh(x[:4]), tf.tanh(x)), None),
        (lambda x: (tf.tanh(x[:4]), tf.tanh(x[4:])), None),
        (lambda x: (tf.tanh(x[1:]), tf.tanh(x[:-1])), None),
        (lambda x: tf.slice(x, [1, 0], [-1, 3]), None),
        (lambda x: x[3], None),
        (lambda x: tf.tanh(x), None),
    ],
)
def test_slices_by_constants_need_the_rows_up_to_the_end_of_the_last_one(use, rows):
    graph = traced(lambda: use(v1.placeholder(tf.float32, [None, 3], "x")))
    assert rows_needed(graph, ImportedGraph(graph), TensorId("x", 0)) == rows
