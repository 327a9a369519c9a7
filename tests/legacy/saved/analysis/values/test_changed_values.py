"""Values of a variable after its changes, on graphs of a few nodes."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.analysis.values.changed_values import ChangedValues, is_computable
from legacy.saved.graph.imported import ImportedGraph
from workloads.lifted.graph import Graph

v1 = tf.compat.v1


def changed(change):
    """(GraphDef, names of the changes) of a reference variable that is set to [1, 2, 4], and changed once more."""
    with tf.Graph().as_default() as graph:
        variable = v1.get_variable("v", [3], use_resource=False)
        first = v1.assign(variable, [1.0, 2.0, 4.0])
        second = change(first)
    return graph.as_graph_def(), [first.op.name, second.op.name]


def value_after(graph_def, changes):
    """The value after some changes, computed in a session that has no variable."""
    values = ChangedValues(Graph(graph_def))
    found = values.after(changes)
    assert values.after(changes) == found  # without making its nodes again
    graph_def.node.extend(values.made)
    with tf.Graph().as_default(), v1.Session() as session:
        (tensor,) = tf.import_graph_def(graph_def, return_elements=[found.name], name="")
        return session.run(tensor)


@pytest.mark.parametrize(
    "change, expected",
    [
        (lambda v: v1.assign_add(v, [8.0, 8.0, 8.0]), [9, 10, 12]),
        (lambda v: v1.assign_sub(v, [8.0, 8.0, 8.0]), [-7, -6, -4]),
        (lambda v: v1.scatter_add(v, [2, 0, 2], [8.0, 16.0, 32.0]), [17, 2, 44]),
        (lambda v: v1.scatter_sub(v, tf.constant([[2], [2]], tf.int64), [[8.0], [32.0]]), [1, 2, -36]),
        (lambda v: v1.scatter_update(v, [1], [8.0]), [1, 8, 4]),
    ],
)
def test_the_value_after_a_change(change, expected):
    graph_def, changes = changed(change)
    imported = ImportedGraph(Graph(graph_def))
    assert all(is_computable(Graph(graph_def), imported, name) for name in changes)
    np.testing.assert_array_equal(value_after(graph_def, changes), np.float32(expected))
    np.testing.assert_array_equal(value_after(graph_def, changes[:1]), np.float32([1, 2, 4]))


@pytest.mark.parametrize("change", [lambda v: v1.scatter_add(v, [2, 0], 8.0), lambda v: v1.scatter_mul(v, [2], [8.0])])
def test_changes_that_have_no_such_op(change):
    graph_def, (first, second) = changed(change)
    imported = ImportedGraph(Graph(graph_def))
    assert is_computable(Graph(graph_def), imported, first) and not is_computable(Graph(graph_def), imported, second)
