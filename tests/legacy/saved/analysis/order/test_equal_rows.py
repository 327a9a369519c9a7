"""Changes that set the same rows of a weight, on graphs of a few nodes."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.order.equal_rows import SETS_ROWS, set_equal_rows, set_rows_at_last
from legacy.saved.graph.imported import ImportedGraph
from tests.legacy.saved.graphs import traced
from workloads.lifted.graph.edits import GraphCopy

v1 = tf.compat.v1


def table():
    return v1.get_variable("table", [4, 2], use_resource=False)


@pytest.mark.parametrize(
    "second, equal",
    [
        (lambda t: v1.scatter_update(t, [1], tf.zeros([1, 2]), name="b"), True),
        (lambda t: v1.scatter_update(t, [2], tf.zeros([1, 2]), name="b"), False),
        (lambda t: v1.scatter_update(t, [1], tf.ones([1, 2]), name="b"), False),
        (lambda t: v1.scatter_update(t, [1], v1.placeholder(tf.float32, [1, 2]), name="b"), False),
        (lambda t: v1.scatter_add(t, [1], tf.zeros([1, 2]), name="b"), False),
        (
            lambda t: tf.cond(v1.placeholder(tf.bool, []), lambda: v1.scatter_update(t, [1], [[0.0, 0.0]]), lambda: t),
            False,
        ),
    ],
)
def test_changes_of_the_same_rows(second, equal):
    def build():
        v1.scatter_update(table(), [1], tf.zeros([1, 2]), name="a")
        second(tf.compat.v1.get_default_graph().get_tensor_by_name("table:0").op.outputs[0])

    graph = traced(build)
    changes = [name for name in graph.nodes if graph.type(name) in (*SETS_ROWS, "ScatterAdd")]
    assert len(changes) == 2 and set_equal_rows(graph, ImportedGraph(graph), changes) is equal


def test_changes_wait_for_users_and_for_each_other():
    def build():
        weight = table()
        for name in "ab":
            v1.scatter_update(weight, [1], tf.zeros([1, 2]), name=name)
        tf.identity(weight, name="used")

    result = GraphCopy(traced(build))
    set_rows_at_last(result, {"a": ["table"], "b": ["table"]}, {"a": "used"})
    assert [[name for name in result.nodes[node].input if name[0] == "^"] for node in "ab"] == [
        ["^used"],
        ["^used", "^a"],
    ]
