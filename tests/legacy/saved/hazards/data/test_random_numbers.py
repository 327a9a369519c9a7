"""Random ops of two towers with equal seeds, and with others."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.data.random_numbers import random_numbers_of_some_towers, same_random_numbers
from tests.legacy.saved.graphs import graph_of, saved, traced
from tests.legacy.saved.hazards.two_towers import TOWERS

v1 = tf.compat.v1
NOISY = TOWERS.replace("tower_0/y = Mul(v, w)", "tower_0/n = RandomUniform() @ /gpu:0\n tower_0/y = Mul(v, tower_0/n)")
NOISY = NOISY.replace("tower_1/y = Mul(v, w)", "tower_1/n = RandomUniform() @ /gpu:1\n tower_1/y = Mul(v, tower_1/n)")


@pytest.mark.parametrize("first, second, count", [((1, 7), (1, 7), 1), ((1, 7), (1, 8), 0), ((0, 0), (0, 0), 0)])
def test_towers_that_draw_the_same_numbers_are_named(first, second, count):
    seeds = {f"tower_{tower}/n": {"seed": seed, "seed2": seed2} for tower, (seed, seed2) in enumerate([first, second])}
    whole = WholeGraph(saved(graph_of(NOISY, **seeds), trainable_variables=["v", "w"]))
    found = list(same_random_numbers(whole))
    assert [hazard.id for hazard in found] == ["SAME_RANDOM_NUMBERS"] * count
    assert all("the seeds of 1 random op of each" in hazard.description for hazard in found)
    assert all("towers 0, 1 draw the same numbers" in hazard.description for hazard in found)


def test_all_ops_of_one_seed_are_counted():
    """Such as the dropout of both directions of a recurrent layer, whose cells are made with one seed."""
    both = NOISY
    for tower in range(2):
        line = f"tower_{tower}/n = RandomUniform() @ /gpu:{tower}"
        both = both.replace(line, f"{line}\n tower_{tower}/m = RandomUniform() @ /gpu:{tower}")
        both = both.replace(f"tower_{tower}/n)", f"tower_{tower}/n, tower_{tower}/m)")
    seeds = {f"tower_{tower}/{name}": {"seed": 1, "seed2": 7} for tower in range(2) for name in "nm"}
    (found,) = same_random_numbers(WholeGraph(saved(graph_of(both, **seeds), trainable_variables=["v", "w"])))
    assert "the seeds of 2 random ops of each are equal" in found.description


@pytest.mark.parametrize(
    "drops, count",
    [((True, False), 1), ((False, True), 1), ((True, True), 0), ((False, False), 0), (("all", "all"), 0)],
)
def test_dropout_in_some_towers_alone_is_named(drops, count):
    def build():
        w = v1.get_variable("w", [4, 1], use_resource=False)
        halves, gradients = tf.split(v1.placeholder(tf.float32, [8, 4], "x"), 2), []
        noise = v1.random_uniform([4, 1])
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                hidden = halves[tower] @ w
                if drops[tower]:
                    hidden = hidden + noise if drops[tower] == "all" else v1.nn.dropout(hidden, 0.5)
                gradients.append(tf.gradients(tf.reduce_mean(tf.square(hidden)), [w])[0])
                v1.random_uniform([3])  # which no loss is computed from
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(gradients) / 2.0, w)], name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    whole = WholeGraph(graph, analyse_graph(graph, "made-for-a-test", ["train"]))
    found = list(random_numbers_of_some_towers(whole))
    assert [hazard.id for hazard in found] == ["RANDOM_IN_SOME_TOWERS"] * count
