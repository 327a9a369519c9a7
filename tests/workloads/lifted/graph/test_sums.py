"""Sums of several terms do not depend on which of them are needed elsewhere."""

import doctest

import numpy as np
import tensorflow as tf

from workloads.lifted.graph import sums

v1 = tf.compat.v1
#: Half a unit in the last place of 1: added to 1 one by one, two of them are lost, and not if they are added first.
HALF_ULP = np.float32(2.0**-24)


def total(in_order, held):
    """The sum of 1 and twice `HALF_ULP`, with its first two terms fetched beside it if `held`."""
    with tf.Graph().as_default() as graph:
        terms = [tf.negative(v1.placeholder(tf.float32, [1], f"x{i}"), f"term{i}") for i in range(3)]
        tf.raw_ops.AddN(inputs=terms, name="sum")
    graph_def = graph.as_graph_def()
    if in_order:
        sums.add_in_order(graph_def)
    names = ["sum:0"] + (["term0:0", "term1:0"] if held else [])
    config = v1.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    with tf.Graph().as_default(), v1.Session(config=config) as session:
        fetches = tf.import_graph_def(graph_def, return_elements=names, name="")
        values = [1.0, HALF_ULP, HALF_ULP]
        return session.run(fetches, {f"x{i}:0": [-value] for i, value in enumerate(values)})[0][0]


def test_the_kernel_begins_with_the_term_whose_memory_it_may_use():
    """If this fails, TensorFlow adds in order, and `add_in_order` is not needed any more."""
    assert total(in_order=False, held=False) == 1.0
    assert total(in_order=False, held=True) == np.float32(1.0 + 2.0**-23)


def test_a_sum_in_order_is_the_same_whatever_is_fetched():
    assert total(in_order=True, held=False) == total(in_order=True, held=True) == 1.0


def test_sums_of_two_and_of_variants_stay_and_controls_are_kept():
    graph_def = v1.GraphDef()
    for name, inputs, dtype in [
        ("two", ["x", "y", "^before"], tf.float32),
        ("lists", ["x", "y", "z"], tf.variant),
        ("many", ["w", "x", "y", "z", "^before"], tf.float32),
    ]:
        node = graph_def.node.add(name=name, op="AddN", input=inputs, device="/gpu:1")
        node.attr["T"].type = dtype.as_datatype_enum
        node.attr["N"].i = len(inputs)
    sums.add_in_order(graph_def)
    nodes = {node.name: node for node in graph_def.node}
    assert nodes["two"].op == nodes["lists"].op == "AddN" and len(nodes) == 5
    assert list(nodes["many"].input) == ["many/in_order_2", "z", "^before"] and "N" not in nodes["many"].attr
    assert list(nodes["many/in_order_2"].input) == ["many/in_order_1", "y", "^before"]
    assert nodes["many/in_order_1"].device == "/gpu:1"


def test_the_example():
    assert doctest.testmod(sums).failed == 0
