"""Nodes that compute the same, of the same weights or of twins."""

import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.structures import structures
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from tests.legacy.saved.hazards.minimized import fed, minimizing, variable

v1 = tf.compat.v1


def program():
    x, (w, u) = fed("x", 8, 4), (variable(name, 4, 3) for name in "wu")
    layers = {"first": x @ w, "again": x @ w, "twin": x @ u, "other": fed("z", 8, 4) @ w}
    named = [tf.tanh(value, name=name) for name, value in layers.items()]
    named += [tf.sigmoid(x @ w, name="sigmoid"), v1.random_normal([8, 3], name="noise") * named[0]]
    return tf.reduce_mean(tf.add_n(named))


def test_nodes_that_compute_the_same_have_one_number():
    whole = WholeGraph(minimizing(program))
    same, twins = structures(whole), structures(whole, of_twins=True)
    assert same["first"] == same["again"] and twins["first"] == twins["again"] == twins["twin"]
    assert len({same[name] for name in ("first", "twin", "other", "sigmoid")}) == 4
    assert len({twins[name] for name in ("first", "other", "sigmoid")}) == 3


def test_what_weights_make():
    made = made_by_weights(WholeGraph(minimizing(program)))
    assert {"w", "first", "other"} <= made and not {"x", "noise/RandomStandardNormal"} & made
