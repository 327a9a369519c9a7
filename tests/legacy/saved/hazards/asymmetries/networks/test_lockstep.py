"""Results that the same ops compute."""

import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.asymmetries.networks.lockstep import lockstep
from tests.legacy.saved.hazards.minimized import fed, minimizing, variable
from workloads.lifted.graph import TensorId


def test_variables_and_data_in_which_two_results_differ():
    def loss():
        common, w, v = fed("c", 8, 3) @ variable("u", 3, 3), variable("w", 4, 3), variable("v", 4, 3)
        one = tf.multiply(common, fed("x", 8, 4) @ w, name="one")
        other = tf.multiply(common, fed("y", 8, 4) @ v, name="other")
        third = tf.add(common, fed("z", 8, 4) @ v, name="third")
        return tf.reduce_mean(one + other + third)

    whole = WholeGraph(minimizing(loss))
    found = lockstep(whole, TensorId("one", 0), TensorId("other", 0))
    assert found is not None and found.variables == {("w", "v")} and len(found.shared) == 1
    assert [(one.node, other.node) for one, other in found.data] == [("x", "y")]
    assert lockstep(whole, TensorId("one", 0), TensorId("third", 0)) is None
