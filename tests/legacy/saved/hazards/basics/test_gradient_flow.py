"""The inputs of a forward op that a gradient flows to, with and without gates."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.gradient_flow import gradient_flow
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


@pytest.mark.parametrize("gates", [True, False])
@pytest.mark.parametrize("shape", [[4, 3], [3]])
def test_a_gradient_passes_the_inputs_that_lead_to_weights(shape, gates):
    def build():
        w, v = (v1.get_variable(name, given, use_resource=False) for name, given in (("w", [4, 3]), ("v", shape)))
        x = v1.placeholder(tf.float32, [4, 3], "x")
        product = tf.multiply(tf.tanh(w * x), tf.stop_gradient(tf.tanh(v)), name="product")
        optimizer = v1.train.GradientDescentOptimizer(0.5)
        loss = tf.reduce_sum(product) + tf.reduce_sum(tf.square(v))
        optimizer.minimize(loss, gate_gradients=int(gates), name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w", "v"]))
    flow = gradient_flow(whole)
    assert flow is gradient_flow(whole), "made once for all checks"
    assert whole.minimized_ops("Mul", "Square") == ["mul", "product", "Square"] and whole.minimized_ops("Log") == []
    assert flow.passes("product") and not flow.passes("x")
    assert flow.passes_input("product", 0) and not flow.passes_input("product", 1)
