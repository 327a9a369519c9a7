"""Gradients of several runs that are applied as their sum, beside those that something divides."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.updates.sums_of_runs import sums_that_are_not_divided
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def plain(x):
    return x


def found(of_loss=plain, of_gradient=plain, of_sum=plain, adds=True):
    def build():
        w = v1.get_variable("w", [4, 1], use_resource=False)
        total = v1.get_variable("total", [4, 1], use_resource=False, trainable=False)
        loss = of_loss(tf.reduce_mean(tf.square(v1.placeholder(tf.float32, [2, 4], "x") @ w)))
        gradient = of_gradient(tf.gradients(loss, [w])[0])
        (v1.assign_add if adds else v1.assign)(total, gradient, name="keep")
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(of_sum(total), w)], name="train")
        v1.assign(total, tf.zeros([4, 1]), name="reset")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w"]))
    return [hazard.id for hazard in sums_that_are_not_divided(whole)]


def test_a_sum_that_nothing_divides_is_named():
    assert found() == ["GRADIENTS_OF_RUNS_SUMMED"]


@pytest.mark.parametrize(
    "case",
    [
        {"of_sum": lambda total: total / 4.0},
        {"of_sum": lambda total: total / v1.placeholder(tf.float32, [], "runs")},
        {"of_gradient": lambda gradient: gradient * 0.25},
        {"of_loss": lambda loss: loss / 4.0},
        {"adds": False},
    ],
)
def test_what_is_divided_or_no_sum_is_not(case):
    assert found(**case) == []
