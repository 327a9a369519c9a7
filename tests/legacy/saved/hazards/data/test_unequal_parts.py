"""Towers that take parts of different sizes, beside equal parts and sums."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.facts.program_facts import program_facts
from legacy.saved.hazards.data.unequal_parts import means_of_unequal_counts, unequal_parts
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


def counted(make_loss, combine=2.0):
    """The hazards of two towers whose losses are made of errors, a mask, and the sum of all masks."""

    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        whole_mask = v1.placeholder(tf.float32, [8, 3], "mask")
        parts, masks = tf.split(v1.placeholder(tf.float32, [8, 4], "x"), 2), tf.split(whole_mask, 2)
        gradients, words = [], tf.reduce_sum(whole_mask)
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                errors = tf.square(parts[tower] @ w)
                gradients.append(tf.gradients(make_loss(errors, masks[tower], words), [w])[0])
        total = tf.add_n(gradients) / combine
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(total, w)], name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    analysis = analyse_graph(graph, "made-for-a-test", ["train"])
    return [hazard.id for hazard in means_of_unequal_counts(WholeGraph(graph, analysis), analysis)]


def masked(errors, mask, words):
    return tf.reduce_sum(errors * mask) / tf.reduce_sum(mask)


@pytest.mark.parametrize(
    "make_loss",
    [masked, lambda errors, mask, words: v1.losses.compute_weighted_loss(errors, mask) + tf.reduce_mean(errors)],
)
def test_losses_divided_by_a_number_of_each_towers_words_are_named(make_loss):
    assert counted(make_loss) == ["MEANS_OF_UNEQUAL_COUNTS"]
    assert counted(make_loss, combine=1.0) == []


@pytest.mark.parametrize(
    "make_loss",
    [
        lambda errors, mask, words: tf.reduce_sum(errors * mask) / 12.0,
        lambda errors, mask, words: tf.reduce_sum(errors * mask) / words,
        lambda errors, mask, words: tf.reduce_sum(errors * mask) / tf.cast(tf.size(mask), tf.float32),
        lambda errors, mask, words: v1.losses.compute_weighted_loss(errors * mask),
        lambda errors, mask, words: tf.reduce_sum(errors * mask) / (tf.reduce_sum(errors) + tf.reduce_sum(mask)),
    ],
)
def test_losses_divided_by_equal_numbers_or_by_results_are_not(make_loss):
    assert counted(make_loss) == []
