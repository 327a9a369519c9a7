"""Sums over a tower's examples that are divided by the count of its own examples, or of all towers'."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.losses.divided_by_all import sums_divided_by_all_examples
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1
TOWERS, BATCH = 2, 4


def mean(gradients):
    return tf.add_n(gradients) / TOWERS


def hazards(loss, count=tf.reduce_sum, combine=mean, is_same=False):
    """The hazards of towers' losses, which are made of masked errors, the tower's mask, and `count` of all masks."""

    def build():
        w = v1.get_variable("w", [5, 1], use_resource=False)
        x = v1.placeholder(tf.float32, [TOWERS * BATCH, 5], "x")
        mask = v1.placeholder(tf.float32, [TOWERS * BATCH, 1], "mask")
        total = tf.maximum(count(mask), 1.0, name="total")
        parts = zip(*([part] * TOWERS if is_same else tf.split(part, TOWERS) for part in (x, mask)))
        gradients = []
        for tower, (own, own_mask) in enumerate(parts):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                gradients += tf.gradients(loss(tf.square(own @ w) * own_mask, own_mask, total), [w])
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(combine(gradients), w)], name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    analysis = analyse_graph(graph, "small", ["train"])
    return [hazard.description for hazard in sums_divided_by_all_examples(WholeGraph(graph, analysis), analysis)]


def by_all(errors, own, total):
    return tf.reduce_sum(errors) / total


def test_a_mean_of_gradients_of_losses_that_are_divided_by_all_examples_is_divided_twice():
    (text,) = hazards(by_all)
    assert "by total, which is counted in the batch of all towers" in text and "takes 1/2 of the gradient" in text


@pytest.mark.parametrize("combine", [tf.add_n, lambda gradients: mean(gradients) * TOWERS])
def test_sums_of_gradients_are_divided_once(combine):
    assert hazards(by_all, combine=combine) == []


@pytest.mark.parametrize(
    "loss",
    [
        lambda errors, own, total: TOWERS * tf.reduce_sum(errors) / total,
        lambda errors, own, total: tf.reduce_sum(errors) / total * TOWERS,
        lambda errors, own, total: tf.reduce_sum(errors) / tf.maximum(tf.reduce_sum(own), 1.0),
        lambda errors, own, total: tf.reduce_mean(errors) + 0.0 * total,
    ],
)
def test_a_tower_s_own_count_and_a_factor_that_makes_up_for_it_are_divided_once(loss):
    assert hazards(loss) == []


def test_a_share_of_the_whole_mask_and_a_batch_that_all_towers_take_count_no_other_tower_s_examples():
    assert hazards(by_all, count=tf.reduce_mean) == []
    assert hazards(by_all, is_same=True) == []


@pytest.mark.parametrize("combine, count", [(mean, 1), (tf.add_n, 0)])
def test_the_sum_of_the_towers_own_counts_is_a_count_of_all_examples(combine, count):
    def build():
        w = v1.get_variable("w", [5, 1], use_resource=False)
        x = tf.split(v1.placeholder(tf.float32, [TOWERS * BATCH, 5], "x"), TOWERS)
        masks = tf.split(v1.placeholder(tf.float32, [TOWERS * BATCH, 1], "mask"), TOWERS)
        sums, counts, gradients = [], [], []
        for tower in range(TOWERS):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                sums.append(tf.reduce_sum(tf.square(x[tower] @ w) * masks[tower]))
                counts.append(tf.reduce_sum(masks[tower]))
        total = tf.add_n(counts)
        for tower in range(TOWERS):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                gradients += tf.gradients(sums[tower] / total, [w])
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(combine(gradients), w)], name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    analysis = analyse_graph(graph, "small", ["train"])
    assert len(list(sums_divided_by_all_examples(WholeGraph(graph, analysis), analysis))) == count


@pytest.mark.parametrize("combine, count", [(mean, 1), (tf.add_n, 0)])
def test_the_towers_counts_may_be_made_outside_of_them(combine, count):
    """As of the pixels of each tower's part that are not ignored."""

    def build():
        w = v1.get_variable("w", [5, 1], use_resource=False)
        x = v1.placeholder(tf.float32, [TOWERS * BATCH, 5], "x")
        mask = v1.placeholder(tf.float32, [TOWERS * BATCH, 1], "mask")
        kept = [tf.cast(part > 0.5, tf.float32) for part in tf.split(mask, TOWERS)]
        total = tf.maximum(tf.add_n([tf.reduce_sum(part) for part in kept]), 1.0)
        gradients = []
        for tower, (own, own_mask) in enumerate(zip(tf.split(x, TOWERS), kept)):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                gradients += tf.gradients(tf.reduce_sum(tf.square(own @ w) * own_mask) / total, [w])
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(combine(gradients), w)], name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    analysis = analyse_graph(graph, "small", ["train"])
    assert len(list(sums_divided_by_all_examples(WholeGraph(graph, analysis), analysis))) == count
