"""Dropout between layers that nothing trains, beside that of trained ones and before them."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.models.frozen_dropout import dropout_of_frozen_layers
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.saved.hazards.minimized import fed, found, variable

v1 = tf.compat.v1


@pytest.mark.parametrize(
    "trained, rate, count",
    [((False, False), 0.5, 1), ((True, True), 0.5, 0), ((False, True), 0.5, 0), ((False, False), None, 0)],
)
def test_dropout_of_a_fixed_network_is_named(trained, rate, count):
    def total():
        h = fed("x", 8, 4)
        for layer, is_trained in enumerate(trained):
            w = v1.get_variable(f"w{layer}", [4, 4], trainable=is_trained, use_resource=False)
            h = h @ w
            given = v1.placeholder_with_default(0.5, [], "rate") if rate is None else rate
            h = v1.nn.dropout(h, rate=given, name=f"dropout{layer}") if not layer else h
        student = fed("x2", 8, 4) @ v1.get_variable("student", [4, 4], use_resource=False)
        return tf.reduce_mean(tf.square(student - h))

    assert found(dropout_of_frozen_layers, total) == ["DROPOUT_OF_FROZEN"] * count


@pytest.mark.parametrize("copies_take_gradients, count", [(True, 0), (False, 1)])
def test_a_towers_copies_whose_gradients_train_those_of_another_are_no_fixed_network(copies_take_gradients, count):
    def loss_of(tower):
        weights = [variable(f"tower_{tower}/w{layer}", 4, 4) for layer in range(2)]
        hidden = v1.nn.dropout(fed(f"x{tower}", 8, 4) @ weights[0], rate=0.5, name=f"dropout{tower}")
        return tf.reduce_mean(tf.square(hidden @ weights[1])), weights

    def build():
        (first, weights), (second, copies) = loss_of(0), loss_of(1)
        if copies_take_gradients:
            pairs = zip(tf.gradients(first, weights), tf.gradients(second, copies))
            gradients = [(one + other) / 2 for one, other in pairs]
        else:
            gradients = tf.gradients(first * second, weights)
        v1.train.GradientDescentOptimizer(0.5).apply_gradients(zip(gradients, weights), name="train")

    names = [f"tower_{tower}/w{layer}" for tower in range(2) for layer in range(2)]
    hazards = dropout_of_frozen_layers(WholeGraph(saved(traced(build), trainable_variables=names)))
    assert [hazard.id for hazard in hazards] == ["DROPOUT_OF_FROZEN"] * count
