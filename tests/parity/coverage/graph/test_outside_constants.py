"""Constants of loops, and those that wait: outside the graph computes the same, and other values can be given."""

import numpy as np
import pytest
import tensorflow as tf

from parity.coverage.graph.outside_constants import OUTSIDE, with_constants_outside

v1 = tf.compat.v1


def powers():
    """A graph of 3 * 2 * 2 * 2, whose factor 2 is a constant inside of a loop."""
    with v1.Graph().as_default() as graph:
        v1.disable_control_flow_v2()
        try:
            _, power = v1.while_loop(
                lambda turn, _: turn < 3,
                lambda turn, value: (turn + 1, value * tf.constant(2.0, name="factor")),
                (tf.constant(0), tf.constant(3.0)),
            )
        finally:
            v1.enable_control_flow_v2()
        tf.identity(power, name="power")
        tf.constant(1.0, name="free")
    return graph.as_graph_def()


def run(graph_def, feed):
    with v1.Graph().as_default() as graph:
        v1.import_graph_def(graph_def, name="")
        with v1.Session(graph=graph) as session:
            return session.run("power:0", feed)


def test_a_constant_of_a_loop_can_be_given_another_value_outside():
    before = powers()
    after = with_constants_outside(before)
    assert run(after, {}) == run(before, {}) == 24.0
    assert run(after, {f"while/factor{OUTSIDE}:0": np.float32(4.0)}) == 192.0
    assert {node.name for node in after.node} - {node.name for node in before.node} == {f"while/factor{OUTSIDE}"}


def counted_after_an_update(value):
    """A step that adds 1.0 to `w`, and then `value` to its counter, by a constant that waits for the sum."""
    with v1.Graph().as_default() as graph:
        w = tf.raw_ops.VariableV2(shape=[], dtype=tf.float32, name="w")
        count = tf.raw_ops.VariableV2(shape=[], dtype=value.dtype, name="count")
        v1.assign(w, 0.0, name="w/start"), v1.assign(count, value * 0, name="count/start")
        with tf.control_dependencies([tf.raw_ops.AssignAdd(ref=w, value=tf.constant(1.0))]):
            step = tf.constant(value, name="value")
        tf.raw_ops.AssignAdd(ref=count, value=step, name="train")
    return graph.as_graph_def()


def trained(graph_def, feed):
    with v1.Graph().as_default() as graph:
        v1.import_graph_def(graph_def, name="")
        with v1.Session(graph=graph) as session:
            session.run(["w/start", "count/start"])
            session.run("train:0", feed)
            return session.run(["w:0", "count:0"])


@pytest.mark.parametrize("value", [np.float32(2.0), np.int64(2)])
def test_a_constant_that_waits_for_an_update_can_be_given_without_leaving_it_out(value):
    before = counted_after_an_update(value)
    after = with_constants_outside(before)
    assert trained(before, {"value:0": value}) == [0.0, 2]  # the update does not run
    assert trained(after, {}) == trained(before, {}) == [1.0, 2]
    assert trained(after, {f"value{OUTSIDE}:0": value * 3}) == [1.0, 6]


def test_constants_that_are_no_numbers_stay():
    with v1.Graph().as_default() as graph, tf.control_dependencies([tf.no_op()]):
        tf.constant([1, 2], name="shape")
        tf.constant("a", name="text")
    before = graph.as_graph_def()
    assert with_constants_outside(before) == before
