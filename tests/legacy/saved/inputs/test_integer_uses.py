"""Uses of integers are followed through ops that rearrange them, and through no others."""

import pytest
import tensorflow as tf

from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.inputs.integer_uses import PASSES, uses_of_integers
from tests.legacy.saved.graphs import traced
from workloads.lifted.graph import TensorId

v1 = tf.compat.v1


def users(use, **options):
    """Types of the ops that read a placeholder of integers, each with the number of its input."""
    graph = traced(lambda: use(v1.placeholder(tf.int32, [4], name="x")))
    found = uses_of_integers(graph, ImportedGraph(graph), TensorId("x", 0), **options)
    return {(graph.type(name), position) for name, position in found}


@pytest.mark.parametrize(
    "use, expected",
    [
        (lambda x: tf.gather(tf.zeros([5]), x), ("GatherV2", 1)),
        (lambda x: tf.gather(tf.zeros([5]), tf.reshape(x, [2, 2])), ("GatherV2", 1)),
        (lambda x: tf.gather(tf.zeros([5]), tf.concat([[0], x], 0)), ("GatherV2", 1)),
    ],
)
def test_rearranged_integers_are_followed(use, expected):
    assert expected in users(use)


def test_other_integers_are_followed_only_if_asked():
    def use(x):
        return tf.gather(tf.zeros([5]), x + 1)

    assert users(use) == {("AddV2", 0)}
    assert ("GatherV2", 1) in users(use, passes=(*PASSES, "AddV2"))
