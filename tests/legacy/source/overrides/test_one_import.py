"""Overridden ops of one graph share its import: a network with hundreds of them would be imported hundreds of times."""

import tensorflow as tf

from legacy.saved.graph import imported
from legacy.source.overrides.usual import _usual_forms
from tests.legacy.saved.graphs import traced

v1 = tf.compat.v1
LAYERS = 5


def build():
    x = v1.placeholder(tf.float32, [2], name="x")
    for layer in range(LAYERS):
        x = tf.tanh(x, name=f"layer_{layer}")


def test_the_usual_derivatives_of_many_ops_take_one_import(monkeypatch):
    made, make = [], imported.ImportedGraph.__init__
    monkeypatch.setattr(imported.ImportedGraph, "__init__", lambda self, graph: made.append(graph) or make(self, graph))
    graph = traced(build)
    forms = [_usual_forms(graph, f"layer_{layer}") for layer in range(LAYERS)]
    assert len(made) == 1 and all(found == forms[0] and found for found in forms)
