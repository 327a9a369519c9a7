"""Sizes of all towers' batches, by which a mean over their joined results divides, made from a tower's own."""

import pytest
import tensorflow as tf

from legacy.saved.analysis import phases
from legacy.saved.analysis.context import Context
from legacy.saved.analysis.division.own_sizes import with_own_sizes
from tests.legacy.saved.graphs import traced

v1 = tf.compat.v1


def changed(parts, reduce=tf.reduce_mean):
    """The graph with own sizes of a program whose loss is made of both towers' joined results; None if unchanged."""

    def build():
        w = v1.get_variable("w", [3], use_resource=False)
        results = []
        for tower, x in enumerate(parts(v1.placeholder(tf.float32, [None, 3], "x"))):
            with tf.device(f"/gpu:{tower}"), v1.name_scope(f"tower_{tower}"):
                results.append(tf.tanh(tf.reduce_sum(x * w, 1)))
        loss = reduce(tf.concat(results, 0))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train", colocate_gradients_with_ops=True)

    context = Context(traced(build), ["w"])
    analysed = phases.analyse_phases(context, ["train"])
    return with_own_sizes(context.graph, context.imported, [phase.divided for phase in analysed])


def test_the_size_of_equal_parts_is_made_from_a_towers_own():
    graph = changed(lambda x: tf.split(x, 2))
    assert graph is not None
    made = [name for name in graph.nodes if "/of_tower_" in name]
    assert made
    towers = {name.rpartition("_")[2]: graph.ancestors([name], controls=False) for name in made}
    assert not any(node.startswith("tower_1/") for node in towers["0"])
    assert not any(node.startswith("tower_0/") for node in towers["1"])


@pytest.mark.parametrize(
    "parts, reduce",
    [
        (lambda x: [x[:2], x[2:]], tf.reduce_mean),  # parts that may have other sizes
        (lambda x: tf.split(x, 2), lambda joined: tf.reduce_max(joined)),  # results come back, not sizes
    ],
)
def test_other_graphs_stay_as_they_are(parts, reduce):
    assert changed(parts, reduce) is None
