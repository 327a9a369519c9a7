"""Losses that updates follow down, and objectives that they follow up."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.directions import applied_gradient, minimized_targets, trained_by
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def whole_of(update):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        target = tf.reduce_mean(tf.square(v1.placeholder(tf.float32, [8, 4], "x") @ w), name="target")
        update(w, tf.gradients(target, [w])[0])

    return WholeGraph(saved(traced(build), trainable_variables=["w"]))


def applied(sign):
    return lambda w, g: v1.train.GradientDescentOptimizer(0.5).apply_gradients([(sign * g, w)], name="train")


@pytest.mark.parametrize(
    "update, is_minimized",
    [
        (applied(1.0), True),
        (applied(0.5), True),
        (applied(-1.0), False),
        (lambda w, g: v1.assign_sub(w, 0.5 * g), True),
        (lambda w, g: v1.assign_add(w, 0.5 * g), False),
        (lambda w, g: v1.assign_sub(w, 0.5 * (g - tf.reduce_mean(g))), True),  # gradients that are centred
        (lambda w, g: v1.assign(w, w - 0.5 * g), True),
        (lambda w, g: v1.assign(w, w + 0.5 * g), False),
        (lambda w, g: v1.assign(w, w - v1.get_variable("rate", [], trainable=False) * g), True),
    ],
)
def test_targets_that_are_minimized(update, is_minimized):
    assert minimized_targets(whole_of(update)) == ["target"] * is_minimized


def test_the_gradient_of_an_update():
    whole = whole_of(applied(0.5))
    assert whole.graph.type(applied_gradient(whole, whole.applies[0])) == "Mul"


def two_losses():
    """A loss of exp(-s) and w, and one of w that trains another variable alone."""
    s, w, u = (v1.get_variable(name, [], use_resource=False) for name in "swu")
    x = v1.placeholder(tf.float32, [8], "x")
    first = tf.reduce_mean(tf.square(x * w) * tf.exp(-s), name="first")
    second = tf.reduce_mean(tf.square(x * w + u), name="second")
    optimizer = v1.train.GradientDescentOptimizer(0.5)
    optimizer.minimize(first, var_list=[s, w], name="train")
    optimizer.minimize(second, var_list=[u], name="train_2")


def test_the_derivative_of_a_negation_says_nothing_of_the_direction():
    whole = WholeGraph(saved(traced(two_losses), trainable_variables=["s", "w", "u"]))
    assert sorted(minimized_targets(whole)) == ["first", "second"]


def test_the_variables_that_a_loss_trains():
    whole = WholeGraph(saved(traced(two_losses), trainable_variables=["s", "w", "u"]))
    assert trained_by(whole) == {"first": {"s", "w"}, "second": {"u"}}
