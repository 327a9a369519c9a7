"""Weights whose squares a loss adds twice, and weights that have one penalty each, or two of different kinds."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.penalties.repeated import squared_twice
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.saved.hazards.minimized import fed, found, variable

v1 = tf.compat.v1


def with_penalties(penalty):
    """The hazards of a loss of two weights to which a function of them is added."""

    def total():
        weights = [variable("v", 4, 3), variable("w", 3, 1)]
        return tf.reduce_mean(tf.square(fed("x", 8, 4) @ weights[0] @ weights[1])) + penalty(*weights)

    return found(squared_twice, total)


def of_each(rate, *weights):
    return tf.add_n([rate * tf.nn.l2_loss(weight) for weight in weights])


def of_sum(rate, *weights):
    return rate * tf.add_n([tf.nn.l2_loss(weight) for weight in weights])


@pytest.mark.parametrize(
    "penalty, count",
    [
        (lambda v, w: of_each(0.01, v, w) + of_sum(0.002, v, w), 1),
        (lambda v, w: of_sum(0.01, v, w) + of_sum(0.01, v, w), 1),
        (lambda v, w: of_each(0.01, v) + of_sum(0.01, v), 1),
        (lambda v, w: of_each(0.01, v) + of_sum(0.01, w), 0),
        (lambda v, w: of_each(0.01, v, w) + of_sum(0.01, w), 0),  # the last layer, more than the others
        (lambda v, w: of_each(0.01, v, w) + 0.01 * tf.reduce_sum(tf.abs(v)) + 0.01 * tf.reduce_sum(tf.abs(w)), 0),
        (lambda v, w: of_each(0.01, v, w) + of_sum(0.01, v - 1.0, w - 1.0), 0),  # near a first value
        (lambda v, w: of_each(0.01, v, w) + of_sum(0.01, 0.0 - v, 0.0 - w), 1),
        (lambda v, w: of_each(0.01, v, w) + of_sum(0.01, 0.5 - v, 0.5 - w), 0),
        (lambda v, w: of_each(0.01, v, w) + of_sum(0.01, tf.transpose(v) @ v, tf.transpose(w) @ w), 0),
    ],
)
def test_squares_that_are_added_twice_are_named(penalty, count):
    assert with_penalties(penalty) == ["WEIGHT_DECAYED_TWICE"] * count


@pytest.mark.parametrize("times, count", [(1, 0), (2, 1)])
def test_each_tower_adds_its_own(times, count):
    def build():
        optimizer, gradients = v1.train.GradientDescentOptimizer(0.5), []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), v1.name_scope(f"tower_{tower}"):
                with v1.variable_scope("", reuse=tower > 0):
                    weights = [variable("v", 4, 3), variable("w", 3, 1)]
                loss = tf.reduce_mean(tf.square(fed("x", 8, 4) @ weights[0] @ weights[1]))
                loss += tf.add_n([of_sum(0.01, *weights) for _ in range(times)])
                gradients.append(optimizer.compute_gradients(loss))
        means = [((one + other) / 2.0, of) for (one, of), (other, _) in zip(*gradients)]
        optimizer.apply_gradients(means, name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["v", "w"]))
    assert [hazard.id for hazard in squared_twice(whole)] == ["WEIGHT_DECAYED_TWICE"] * count
