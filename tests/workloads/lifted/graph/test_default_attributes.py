"""Attributes with default values, which a lift's file leaves out."""

import pytest
import tensorflow as tf

from workloads.lifted.graph.default_attributes import add_default_attributes, strip_default_attributes

v1 = tf.compat.v1


def product(**attributes):
    """A graph that multiplies matrices, in a function as well."""

    @tf.function
    def squared(x):
        return tf.matmul(x, x, **attributes)

    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2, 2], "x")
        tf.matmul(x, squared(x), name="product", **attributes)
    return graph.as_graph_def()


def products(graph_def):
    nodes = [*graph_def.node, *(node for function in graph_def.library.function for node in function.node_def)]
    return [node for node in nodes if node.op == "MatMul"]


@pytest.mark.parametrize("attributes, kept", [({}, set()), ({"transpose_a": True}, {"transpose_a"})])
def test_only_other_values_and_what_has_no_default_stay(attributes, kept):
    graph_def = product(**attributes)
    before = [dict(node.attr) for node in products(graph_def)]
    strip_default_attributes(graph_def)
    assert len(before) == 2 and all("grad_a" in attrs for attrs in before)  # which TensorFlow 1.15 does not know
    for node in products(graph_def):
        assert {name for name in node.attr if not name.startswith("_")} == {"T"} | kept
    add_default_attributes(graph_def)
    assert [dict(node.attr) for node in products(graph_def)] == before


def test_ops_that_are_not_known_stay_as_they_are():
    graph_def = v1.GraphDef()
    graph_def.node.add(name="x", op="Unheard").attr["transpose_a"].b = False
    before = graph_def.SerializeToString()
    strip_default_attributes(graph_def)
    add_default_attributes(graph_def)
    assert graph_def.SerializeToString() == before
