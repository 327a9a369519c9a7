"""Terms that are sums over examples beside means, and those that are divided, or of weights alone."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.losses.terms import sums_beside_means
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def found(make_loss):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        errors = v1.placeholder(tf.float32, [8, 4], "x") @ w
        v1.train.GradientDescentOptimizer(0.5).minimize(make_loss(errors, w), name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    analysis = analyse_graph(graph, "made-for-a-test", ["train"])
    return [hazard.id for hazard in sums_beside_means(WholeGraph(graph, analysis), analysis)]


def mean(errors):
    return tf.reduce_mean(tf.abs(errors))


@pytest.mark.parametrize(
    "make_loss",
    [
        lambda errors, w: mean(errors) + 0.01 * tf.nn.l2_loss(errors),
        lambda errors, w: mean(errors) - 0.5 * tf.reduce_sum(tf.exp(errors)),
        lambda errors, w: v1.losses.compute_weighted_loss(tf.abs(errors)) + 0.01 * tf.nn.l2_loss(errors),
    ],
)
def test_a_sum_over_examples_beside_a_mean_is_named(make_loss):
    assert found(make_loss) == ["SUM_BESIDE_MEAN"]


@pytest.mark.parametrize(
    "make_loss",
    [
        lambda errors, w: mean(errors) + 0.01 * tf.nn.l2_loss(w),
        lambda errors, w: mean(errors) + tf.nn.l2_loss(errors) / 8.0,
        lambda errors, w: mean(errors) + tf.reduce_sum(tf.exp(errors)) / 24.0,
        lambda errors, w: mean(errors) + 0.3 * tf.nn.l2_loss(errors) / 4.0,
        lambda errors, w: mean(errors) + tf.reduce_mean(tf.reduce_sum(tf.exp(errors), 1)),
        lambda errors, w: tf.reduce_sum(tf.exp(errors)) + 0.01 * tf.nn.l2_loss(errors),
        lambda errors, w: mean(errors) + tf.reduce_sum(tf.square(tf.reduce_mean(errors, 0))),
    ],
)
def test_divided_sums_and_those_of_weights_or_of_means_are_not(make_loss):
    assert found(make_loss) == []
