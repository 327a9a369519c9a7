"""Parts of small graphs that are made of constants alone."""

import numpy as np
import tensorflow as tf

from parity.coverage.graph.constant_parts import ConstantParts
from workloads.lifted.graph import Graph

v1 = tf.compat.v1


def parts():
    """x + 2 * 3, times zero; the 3 is read by x * 3, too."""
    with tf.Graph().as_default() as made:
        x = v1.placeholder(tf.float32, [], "x")
        two, three = (tf.constant(value, tf.float32, name=name) for value, name in ((2, "two"), (3, "three")))
        six = tf.multiply(two, three, name="six")
        zero = tf.constant(0.0, name="zero")
        tf.multiply(tf.add(x, six, name="sum"), zero, name="nothing")
        tf.multiply(x, three, name="tripled")
    return ConstantParts(Graph(made.as_graph_def()))


def test_what_is_computed_from_a_placeholder_is_not_made_of_constants():
    found = parts()
    assert found.has("six") and found.has("two") and not found.has("sum") and not found.has("x")


def test_the_frontier_is_what_others_read():
    found = parts()
    assert found.frontier("two") == {"six:0"}
    assert found.frontier("three") == set(), "others read the constant itself"


def test_values_follow_from_changed_constants():
    found = parts()
    assert found.values(["six:0"], {}) == [6.0]
    assert found.values(["six:0"], {"two:0": np.float32(5), "elsewhere:0": np.float32(1)}) == [15.0]


def test_a_factor_of_zero_is_one_only_where_it_multiplies():
    found = parts()
    assert found.is_zero_factor("zero") and not found.is_zero_factor("six") and not found.is_zero_factor("x")
