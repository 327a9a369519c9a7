"""Constants as arrays, also behind what reshapes them."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.hazards.basics.constants import constant_array, order_of_axes, sign_of_constants
from tests.legacy.saved.graphs import graph_of, traced

v1 = tf.compat.v1


def test_constants_are_read_behind_a_reshape_and_no_other_node_is():
    graph = graph_of(
        """
        c = Const()
        shape = Const()
        r = Reshape(c, shape)
        p = Placeholder()
        word = Const()
        """,
        c={"value": np.array([1.5, 2.5], np.float32)},
        shape={"value": np.array([2, 1], np.int32)},
        word={"value": np.array(["a"], object)},
        p={"dtype": tf.float32},
    )
    assert np.array_equal(constant_array(graph, "r"), [1.5, 2.5])
    assert constant_array(graph, "p") is None and constant_array(graph, "word") is None


@pytest.mark.parametrize("join", [tf.concat, lambda parts, axis: tf.raw_ops.Concat(concat_dim=axis, values=parts)])
def test_an_order_of_axes_is_computed_as_1_x_makes_it(join):
    """Of ranges, and of the rank less one."""

    def build():
        x = v1.placeholder(tf.float32, [2, 4, 6, 3], "x")
        last = tf.rank(x) - tf.constant(1)
        order = join([tf.range(0, 1), [last], tf.range(2, last), [1]], 0)
        tf.transpose(x, order, name="turned")
        tf.transpose(x, v1.placeholder(tf.int32, [4], "order"), name="open")

    graph = traced(build)
    imported = ImportedGraph(graph)
    assert order_of_axes(graph, imported, graph.inputs("turned")[1]) == [0, 3, 2, 1]
    assert order_of_axes(graph, imported, graph.inputs("open")[1]) is None


@pytest.mark.parametrize(
    "numbers, sign",
    [
        (lambda: tf.constant([0.1, 0.9]), 1),
        (lambda: tf.constant([0.1, 0.9]) - 1.0, -1),
        (lambda: -tf.constant([0.1, 0.9]), -1),
        (lambda: tf.constant([0.1, 0.9]) - 0.5, 0),
        (lambda: tf.constant([0.0, 0.9]), 0),
        (lambda: tf.constant([0.1]) + v1.placeholder(tf.float32, [1]), 0),
    ],
)
def test_the_sign_of_constants_is_that_of_all_of_them(numbers, sign):
    graph = traced(lambda: tf.identity(numbers(), name="numbers"))
    assert sign_of_constants(graph, graph.inputs("numbers")[0].node) == sign
