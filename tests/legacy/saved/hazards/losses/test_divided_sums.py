"""Sums of two towers' gradients that updates by hand divide by a number; test_multipliers.py has those of rules."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.losses.divided_sums import sums_divided_by_another_count
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def slot(name):
    return v1.get_variable(name, [2], initializer=v1.zeros_initializer(), trainable=False, use_resource=False)


def by_hand(update, reduce=tf.reduce_mean, scale=1.0):
    """The sentences about two towers whose gradients `update` applies to the weight; each has two examples."""

    def build():
        w, gradients = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False), []
        for tower, x in enumerate(tf.split(v1.placeholder(tf.float32, [4, 2], "x"), 2)):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                gradients += tf.gradients(reduce(tf.sigmoid(x * w)) * scale, [w])
        tf.group(update(w, *gradients), name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    found = analyse_graph(graph, "small", ["train"])
    return [hazard.description for hazard in sums_divided_by_another_count(WholeGraph(graph, found), found)]


def with_velocity(w, a, b):
    velocity = slot("velocity")
    return v1.assign_sub(w, 0.1 * v1.assign(velocity, 0.9 * velocity + 0.1 * ((a + b) / 3.0)))


def with_moments(w, a, b):
    m, s, gradient = slot("m"), slot("s"), (a + b) / 3.0
    mean, square = v1.assign(m, 0.9 * m + 0.1 * gradient), v1.assign(s, 0.99 * s + 0.01 * gradient * gradient)
    return v1.assign_sub(w, 0.1 * mean / (tf.sqrt(square) + 1e-5))


@pytest.mark.parametrize(
    "update",
    [
        lambda w, a, b: v1.assign_sub(w, 0.1 * (a + b) / 3.0),
        lambda w, a, b: v1.assign_sub(w, 0.1 * ((a + b) / 3.0)),
        lambda w, a, b: v1.assign_sub(w, 0.1 * (a / 3.0 + b / 3.0)),
        lambda w, a, b: v1.assign_sub(w, 0.1 * ((a + b) * (1.0 / 3.0))),
        lambda w, a, b: v1.assign(w, w - 0.1 * (tf.add_n([a, b]) / 3.0)),
        lambda w, a, b: v1.assign_sub(w, v1.placeholder(tf.float32, [], "rate") * ((a + b) / 3.0)),
        with_velocity,
        with_moments,
    ],
)
def test_a_sum_that_is_divided_by_another_number_is_named(update):
    assert by_hand(update) == [
        "the sum of 2 towers' gradients of 1 variable is divided by 3: train takes 2/3 of their mean"
    ]


@pytest.mark.parametrize(
    "update, options",
    [
        (lambda w, a, b: v1.assign_sub(w, 0.1 * (a + b) / 2.0), {}),
        (lambda w, a, b: v1.assign_sub(w, 0.1 * (a + b)), {}),
        (lambda w, a, b: v1.assign_sub(w, 0.2 * (a + b)), {}),  # a rate of 1 / 5
        (lambda w, a, b: v1.assign_sub(w, (a + b) / 20.0), {}),  # the rate itself
        (lambda w, a, b: v1.assign_sub(w, 0.1 * (a + b) * 0.25), {}),  # a share
        (lambda w, a, b: v1.assign_sub(w, 0.1 * (a + b) / 2.0 / 5.0), {}),  # a mean, of a smaller rate
        (lambda w, a, b: v1.assign_sub(w, 0.1 * (a + b) / 4.0), {"reduce": tf.reduce_sum}),  # of all examples
        (lambda w, a, b: v1.assign_sub(w, 0.1 * (a + b) / 128.0), {"scale": 64.0}),  # a loss scale
    ],
)
def test_means_and_learning_rates_are_not(update, options):
    assert by_hand(update, **options) == []
