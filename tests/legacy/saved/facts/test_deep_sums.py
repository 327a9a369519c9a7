"""Pages of losses that are sums of very many terms, each added to the sum of those before it."""

import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.program_facts import program_facts
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1
#: More than Python's own limit of calls inside of each other.
PENALTIES = 1200


def test_penalties_of_a_deep_network_that_are_added_one_by_one():
    def build():
        w = v1.get_variable("w", [3], use_resource=False)
        loss = tf.reduce_mean(tf.square(v1.placeholder(tf.float32, [4, 3], "x") * w)) / 2.0
        for _ in range(PENALTIES):
            loss += 0.5 * tf.nn.l2_loss(w)
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    sections = program_facts(graph, analyse_graph(graph, "deep", ["train"]))
    assert len(sections["losses"]) > PENALTIES
