"""Programs of one loss that is minimized, and the hazards that checks find in them."""

import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def variable(name, *shape):
    """A trained variable, by reference as in 1.x."""
    return v1.get_variable(name, shape, use_resource=False)


def fed(name, *shape, dtype=tf.float32):
    """A placeholder."""
    return v1.placeholder(dtype, shape, name)


def minimizing(loss):
    """A saved program that minimizes `loss()`, a scalar, by gradient descent."""
    names = []

    def build():
        v1.train.GradientDescentOptimizer(0.5).minimize(loss(), name="train")
        names.extend(one.op.name for one in v1.trainable_variables())

    graph = traced(build)
    return saved(graph, trainable_variables=names)


def found(check, loss):
    """[hazard] that a check of the graph finds."""
    return [hazard.id for hazard in check(WholeGraph(minimizing(loss)))]


def found_by_analysis(check, loss):
    """[hazard] that a check of the graph and of its analysis finds."""
    graph = minimizing(loss)
    analysis = analyse_graph(graph, "made-for-a-test", ["train"])
    return [hazard.id for hazard in check(WholeGraph(graph, analysis), analysis)]
