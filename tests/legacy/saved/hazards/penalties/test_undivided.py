"""Penalties that towers sum up, beside data that are divided by the towers or by all their examples."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.penalties.counts import regularization
from legacy.saved.hazards.penalties.undivided import _is_divided_before, is_undivided
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1
TOWERS, BATCH = 3, 4


def counted(loss, combine=tf.add_n):
    """What the page says of the penalty; `loss` gets the errors of a tower's examples and an L2 term."""

    def build():
        w = v1.get_variable("w", [5, 1], use_resource=False)
        parts = tf.split(v1.placeholder(tf.float32, [TOWERS * BATCH, 5], "x"), TOWERS)
        gradients = []
        for tower in range(TOWERS):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                errors = tf.nn.softplus(parts[tower] @ w)
                gradients += tf.gradients(loss(errors, tf.nn.l2_loss(w)), [w])
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(combine(gradients), w)], name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    analysis = analyse_graph(graph, "small", ["train"])
    hazards = [hazard.description for hazard in regularization(WholeGraph(graph, analysis), analysis)]
    return [text.partition("loss: ")[2] for text in hazards]


ALL = float(TOWERS * BATCH)


@pytest.mark.parametrize(
    "loss",
    [
        lambda errors, term: tf.reduce_sum(errors) / ALL + 0.01 * term,
        lambda errors, term: tf.reduce_mean(errors) / TOWERS + 0.01 * term,
        lambda errors, term: tf.reduce_mean(errors) / TOWERS + 0.01 * tf.add_n([term]),
    ],
)
def test_a_penalty_of_each_tower_beside_shares_of_a_mean_counts_as_often_as_there_are_towers(loss):
    assert counted(loss) == ["1, 1, 1; summed over 3 towers it counts 3 times"]


@pytest.mark.parametrize(
    "loss",
    [
        lambda errors, term: tf.reduce_sum(errors) / ALL + 0.01 * term / TOWERS,
        lambda errors, term: (tf.reduce_mean(errors) + 0.01 * term) / TOWERS,
        lambda errors, term: tf.reduce_sum(errors) / ALL + (0.01 / TOWERS) * term,  # divided by Python
        lambda errors, term: tf.reduce_sum(errors) + 0.01 * term,  # sums of examples, which the rate makes up for
        lambda errors, term: tf.reduce_sum(errors) / 7.0 + 0.01 * term,
        lambda errors, term: tf.reduce_mean(errors) + 0.01 * term,
        lambda errors, term: tf.reduce_mean(errors) / TOWERS + tf.reduce_mean(tf.square(errors)) + 0.01 * term,
    ],
)
def test_a_penalty_that_is_divided_too_or_data_that_are_no_shares_are_no_hazard(loss):
    assert counted(loss) == []


def test_a_loss_without_data_divides_none():
    def build():
        w = v1.get_variable("w", [5, 1], use_resource=False)
        with tf.device("/gpu:0"), tf.name_scope("tower_0"):
            loss = tf.add(tf.reduce_mean(v1.placeholder(tf.float32, [4, 5], "x") @ w), tf.nn.l2_loss(w))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    analysis = analyse_graph(graph, "small", ["train"])
    term = next(name for name in graph.graph.nodes if graph.graph.type(name) == "L2Loss")
    assert not is_undivided(WholeGraph(graph, analysis), analysis, term, {term: 1.0})


def test_a_mean_of_gradients_contains_a_penalty_of_each_tower_once():
    mean = lambda gradients: tf.add_n(gradients) / TOWERS  # noqa: E731
    assert counted(lambda errors, term: tf.reduce_sum(errors) / ALL + 0.01 * term, mean) == []


@pytest.mark.parametrize(
    "rate, towers, is_divided",
    [(1e-4, 2, False), (5e-5, 2, True), (5e-4, 4, False), (2.5e-5, 4, True), (1e-3, 3, False), (1e-3 / 3, 3, True)],
)
def test_a_rate_that_was_more_usual_before_a_division_may_be_divided(rate, towers, is_divided):
    assert _is_divided_before(rate, towers) == is_divided
