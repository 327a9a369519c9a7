"""Towers that take parts of different sizes, beside equal parts and sums."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.facts.program_facts import program_facts
from legacy.saved.hazards.data.unequal_parts import unequal_parts
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def analysed(sizes, reduce=tf.reduce_mean):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        parts = tf.split(v1.placeholder(tf.float32, [8, 4], "x"), sizes)
        gradients = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                gradients.append(tf.gradients(reduce(tf.square(parts[tower] @ w)), [w])[0])
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(gradients) / 2.0, w)], name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    return graph, analyse_graph(graph, "made-for-a-test", ["train"])


@pytest.mark.parametrize(
    "sizes, reduce, count",
    [
        ([6, 2], tf.reduce_mean, 1),
        ([6, 2], v1.losses.compute_weighted_loss, 1),
        ([4, 4], tf.reduce_mean, 0),
        ([4, 4], v1.losses.compute_weighted_loss, 0),
        ([6, 2], tf.reduce_sum, 0),
    ],
)
def test_parts_of_unequal_size_are_named(sizes, reduce, count):
    graph, analysis = analysed(sizes, reduce)
    found = list(unequal_parts(WholeGraph(graph, analysis), analysis))
    assert [hazard.id for hazard in found] == ["PARTS_OF_UNEQUAL_SIZE"] * count


@pytest.mark.parametrize("sizes, batch", [([6, 2], "6, 2 of the towers in turn"), ([4, 4], "4")])
def test_the_page_gives_each_towers_number_of_examples(sizes, batch):
    towers = {row["what"]: row["is"] for row in program_facts(*analysed(sizes))["towers"]}
    assert towers["batch of one"] == batch


@pytest.mark.parametrize("rows, count", [(3, 1), (4, 0)])
def test_a_tower_that_cuts_rows_off_uses_fewer(rows, count):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        parts = tf.split(v1.placeholder(tf.float32, [8, 4], "x"), 2)
        gradients = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                part = parts[tower][:rows] if tower else parts[tower]
                gradients.append(tf.gradients(tf.reduce_mean(tf.square(part @ w)), [w])[0])
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(gradients) / 2.0, w)], name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    analysis = analyse_graph(graph, "made-for-a-test", ["train"])
    hazards = list(unequal_parts(WholeGraph(graph, analysis), analysis))
    assert [hazard.id for hazard in hazards] == ["PARTS_OF_UNEQUAL_SIZE"] * count
    towers = {row["what"]: row["is"] for row in program_facts(graph, analysis)["towers"]}
    assert towers["batch of one"] == ("4, 3 of the towers in turn" if count else "4")
