"""Constants inside of loops: outside the graph computes the same, and other values can be given."""

import numpy as np
import tensorflow as tf

from parity.coverage.graph.loop_constants import OUTSIDE, with_loop_constants_outside

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
    after = with_loop_constants_outside(before)
    assert run(after, {}) == run(before, {}) == 24.0
    assert run(after, {f"while/factor{OUTSIDE}:0": np.float32(4.0)}) == 192.0
    assert {node.name for node in after.node} - {node.name for node in before.node} == {f"while/factor{OUTSIDE}"}
