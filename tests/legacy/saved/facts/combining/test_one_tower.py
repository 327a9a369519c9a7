"""Combinations that have one tower's gradient alone, in the page's words."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.combining.one_tower import only_tower
from legacy.saved.facts.combining.rows import combining_rows
from tests.legacy.saved.graphs import saved, traced
from workloads.lifted.plan import Combine

v1 = tf.compat.v1


def rows(penalty, clip=False):
    """COMBINING of two towers with a shared weight v, and w of the first tower alone.

    Args:
      penalty: the factor of the squares of all weights in each tower's loss; None for no penalty.
      clip: whether the averaged gradients are clipped by their global norm.
    """

    def build():
        v = v1.get_variable("v", [3, 2], use_resource=False)
        w = v1.get_variable("w", [2, 1], use_resource=False)
        towers, weights = [], [v, w]
        for k, x in enumerate(tf.split(v1.placeholder(tf.float32, [4, 3], "x"), 2)):
            with tf.device(f"/gpu:{k}"), tf.name_scope(f"tower_{k}"):
                loss = tf.reduce_mean(tf.square(x @ v @ w if k == 0 else x @ v))
                if penalty is not None:
                    loss += tf.add_n([tf.nn.l2_loss(weight) * penalty for weight in weights])
                towers.append(v1.gradients(loss, weights))
        means = [
            tf.reduce_mean(tf.concat([tf.expand_dims(g, 0) for g in each if g is not None], 0), 0)
            for each in zip(*towers)
        ]
        means = tf.clip_by_global_norm(means, 5.0)[0] if clip else means
        v1.train.GradientDescentOptimizer(0.5).apply_gradients(zip(means, weights), name="train")

    graph = saved(traced(build), trainable_variables=["v", "w"])
    found = combining_rows(AnalysedStep(analyse_graph(graph, "small")))
    return {weight: row for row in found for weight in row["of"].split(", ")}


def test_the_mean_with_another_towers_penalty_is_not_one_towers_gradient_as_it_is():
    found = rows(0.01)
    assert found["v"]["are"] == "mean"
    assert found["w"]["are"] == "kept as written: tower 0's, and terms that depend on no data"


def test_the_gradient_of_the_only_tower_that_uses_a_weight_is_not_combined():
    found = rows(None)
    assert found["v"]["are"] == "mean"
    assert found["w"]["are"] == "not combined: tower 0's alone"


@pytest.mark.parametrize(
    "change, times",
    [
        (lambda g: g, ""),
        (lambda g: g / 2.0, ", times 0.5"),
        (lambda g: 0.25 * (g / 2.0), ", times 0.125"),
        (lambda g: tf.tanh(g), ""),
    ],
)
def test_a_constant_that_multiplies_what_each_tower_applies_alone_is_told(change, times):
    """As the replicas of Grappler's auto parallel divide their gradients by their number."""

    def build():
        w = v1.get_variable("w", [3, 1], use_resource=False)
        rule, applied = v1.train.GradientDescentOptimizer(0.5), []
        for k, x in enumerate(tf.split(v1.placeholder(tf.float32, [4, 3], "x"), 2)):
            with tf.device(f"/gpu:{k}"), tf.name_scope(f"tower_{k}"):
                (gradient,) = v1.gradients(tf.reduce_mean(tf.square(x @ w)), [w])
                applied.append(rule.apply_gradients([(change(gradient), w)]))
        tf.group(*applied, name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    found = combining_rows(AnalysedStep(analyse_graph(graph, "small", ["train"])))
    assert [row["are"] for row in found] == [f"not combined: tower {k}'s alone{times}" for k in range(2)]


@pytest.mark.parametrize("penalty", [None, 0.01])
def test_one_towers_gradient_is_not_clipped_while_combining(penalty):
    assert "while" not in rows(penalty, clip=True)["w"]["clipped"]


@pytest.mark.parametrize(
    "parts, tower", [([["a:0"], []], 0), ([[], ["b:0"]], 1), ([["a:0"], ["b:0"]], None), ([["a:0"]], None)]
)
def test_the_only_tower_of_a_combination(parts, tower):
    assert only_tower(Combine("w", "kept as written", "sum:0", 1.0, parts)) == tower
