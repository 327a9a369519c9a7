"""Effects of the update ops of a small graph that a function builds with TensorFlow 1.x's ops."""

import tensorflow as tf

from legacy.saved.analysis.effects import describe_effects
from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.graph.variables import VariableUses
from tests.legacy.saved.graphs import traced

v1 = tf.compat.v1


def variable(name, value=(1.0, 2.0), trainable=True):
    return v1.get_variable(name, initializer=list(value), use_resource=False, trainable=trainable)


def described(build, trainable=("w",)):
    """(graph, `VariableUses`, {update op: `Effect`}) of what `build` makes, without initializers."""
    graph = traced(build)
    imported = ImportedGraph(graph)
    state = VariableUses(graph, imported, set(trainable))
    names = [name for name in graph.nodes if name in state.writes and not name.endswith("/Assign")]
    return graph, state, {effect.node: effect for effect in describe_effects(graph, imported, state, names)}
