"""Regularization terms that no gradient contains: made for a loss, or displayed alone."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.penalties.counts import regularization
from legacy.saved.hazards.penalties.lost import lost_penalties
from legacy.saved.hazards.penalties.terms import find_penalties
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


@pytest.mark.parametrize("last_only, count", [(True, 1), (False, 0)])
def test_penalties_that_a_loop_drops_are_lost_beside_the_one_that_is_kept(last_only, count):
    def build():
        u, w = (v1.get_variable(name, [3, 3], use_resource=False) for name in "uw")
        x = v1.placeholder(tf.float32, [8, 3], "x")
        terms = [tf.multiply(tf.nn.l2_loss(variable), 0.5, name="weight_loss") for variable in (u, w)]
        loss = tf.reduce_mean(tf.square(x @ u @ w)) + (terms[-1] if last_only else tf.add_n(terms))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["u", "w"]))
    found = [hazard for hazard in regularization(whole) if hazard.id == "REGULARIZATION_LOST"]
    assert [hazard.op for hazard in found] == ["weight_loss"] * count


@pytest.mark.parametrize(
    "used, count",
    [
        (lambda squares: 1e-4 * squares, 1),
        (lambda squares: v1.summary.scalar("decay", squares * 1e-4), 1),
        (lambda squares: v1.summary.scalar("norm", tf.sqrt(2.0 * squares)), 0),
        (lambda squares: v1.summary.scalar("rms", tf.sqrt(0.05 * squares)), 0),
        (lambda squares: v1.summary.scalar("squares", 2.0 * squares), 0),
    ],
)
def test_a_weighted_sum_of_squares_is_lost_and_a_norm_is_displayed(used, count):
    def build():
        u, w = (v1.get_variable(name, [3, 3], use_resource=False) for name in "uw")
        loss = tf.reduce_mean(tf.square(v1.placeholder(tf.float32, [8, 3], "x") @ u @ w))
        used(tf.add_n([tf.nn.l2_loss(u), tf.nn.l2_loss(w)]))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["u", "w"]))
    groups = [[penalty] for penalty in find_penalties(whole)]
    assert bool(lost_penalties(whole, groups, reached=set())) == bool(count)
    assert [hazard.id for hazard in regularization(whole)] == ["REGULARIZATION_LOST"] * count


@pytest.mark.parametrize("minimized, count", [(True, 0), (False, 1)])
def test_a_penalty_of_another_train_op_is_not_lost(minimized, count):
    def build():
        u, w = (v1.get_variable(name, [3, 3], use_resource=False) for name in "uw")
        hidden = v1.placeholder(tf.float32, [8, 3], "x") @ u
        optimizer = v1.train.GradientDescentOptimizer(0.5)
        optimizer.minimize(tf.reduce_mean(tf.square(hidden)), name="train")
        penalty = tf.multiply(tf.nn.l2_loss(u), 0.5, name="weight_loss")
        other = tf.reduce_mean(tf.square(hidden @ w))
        optimizer.minimize(other + penalty if minimized else other, name="train_other")

    graph = saved(traced(build), trainable_variables=["u", "w"])
    found = analyse_graph(graph, "made-for-a-test", ["train"])
    assert [hazard.id for hazard in regularization(WholeGraph(graph, found), found)] == ["REGULARIZATION_LOST"] * count


def test_nothing_is_lost_where_the_gradients_tell_no_loss():
    """As of least squares by hand, whose gradient may contain the penalty's."""

    def build():
        w = v1.get_variable("w", [3, 2], use_resource=False)
        x, y = v1.placeholder(tf.float32, [8, 3], "x"), v1.placeholder(tf.float32, [8, 2], "y")
        tf.multiply(tf.nn.l2_loss(w), 0.5, name="weight_loss")
        gradient = tf.matmul(x, x @ w - y, transpose_a=True) + 0.5 * w
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(gradient, w)], name="train")

    assert not list(regularization(WholeGraph(saved(traced(build), trainable_variables=["w"]))))
