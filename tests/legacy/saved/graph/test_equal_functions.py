"""Functions of a library that compute the same."""

import pytest
import tensorflow as tf

from legacy.saved.graph.equal_functions import are_equal_attributes, are_equal_functions
from tests.legacy.saved.graphs import traced

v1 = tf.compat.v1


def calls(*functions):
    """The graph that calls each of some functions of x once, and the nodes that call them, in their order."""

    def build():
        x = v1.placeholder(tf.float32, [2], "x")
        for function in functions:
            tf.function(function, autograph=False)(x)

    graph = traced(build)
    nodes = [node for node in graph.graph_def.node if "PartitionedCall" in node.op]
    assert len(nodes) == len(functions)
    return graph.graph_def, nodes


def doubled(factor):
    return lambda x: tf.tanh(x) * factor


def in_a_call(factor):
    inner = tf.function(doubled(factor), autograph=False)
    return lambda x: inner(x) + 1.0


@pytest.mark.parametrize("make", [doubled, in_a_call])
@pytest.mark.parametrize("factor, expected", [(2.0, True), (3.0, False)])
def test_two_traces_of_one_function_are_equal(make, factor, expected):
    graph_def, (first, other) = calls(make(2.0), make(factor))
    assert first.attr["f"].func.name != other.attr["f"].func.name
    assert are_equal_functions(graph_def, first.attr["f"].func.name, other.attr["f"].func.name) is expected
    assert are_equal_attributes(graph_def, first.attr["f"], other.attr["f"]) is expected


def test_names_of_ops_and_other_attributes_are_compared_as_they_are():
    graph_def, (first, other) = calls(doubled(2.0), doubled(2.0))
    assert are_equal_functions(graph_def, "Tanh", "Tanh") and not are_equal_functions(graph_def, "Tanh", "Relu")
    assert not are_equal_functions(graph_def, "Tanh", first.attr["f"].func.name)
    assert not are_equal_attributes(graph_def, first.attr["f"], other.attr["config"])
