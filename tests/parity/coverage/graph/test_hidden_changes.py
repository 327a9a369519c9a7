"""Changes of constants that no data can show, in a graph of a few ops."""

import numpy as np
import pytest
import tensorflow as tf

from parity.coverage.graph.constant_parts import ConstantParts
from parity.coverage.graph.hidden_changes import HiddenChanges
from workloads.lifted.graph import Graph

v1 = tf.compat.v1


@pytest.fixture(scope="module")
def hidden():
    """(x + 2) * 0.5 + x * least, where least = min(4, 1), and another x is multiplied by zero."""
    with tf.Graph().as_default() as made:
        x = v1.placeholder(tf.float32, [], "x")
        half = (x + tf.constant(2.0, name="two")) * tf.constant(0.5, name="half")
        least = tf.minimum(tf.constant(4.0, name="four"), tf.constant(1.0, name="one"), name="least")
        lost = (x + tf.constant(7.0, name="seven")) * tf.constant(0.0, name="zero")
        tf.identity(half + x * least + lost, name="out")
    graph = Graph(made.as_graph_def())
    return HiddenChanges(graph, ConstantParts(graph), graph.ancestors(["out"]), {"out"})


@pytest.mark.parametrize(
    "name, value, reason",
    [
        ("two", 3.0, ""),
        ("four", 5.0, "other constants hide the change"),
        ("four", 0.5, ""),  # now the smaller one
        ("seven", 8.0, "it is only multiplied by zero"),
        ("half", np.inf, "infinite or NaN"),
    ],
)
def test_a_change_that_no_data_show_has_a_reason(hidden, name, value, reason):
    found = hidden.why({name + ":0": np.float32(value)})
    assert found.startswith(reason) and bool(found) == bool(reason)
