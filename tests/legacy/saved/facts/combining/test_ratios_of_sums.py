"""Losses that are a ratio of two sums over each tower's examples."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.combining.ratios_of_sums import ratio_sentences
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def sentences(make_loss, combine=2.0):
    """The sentences on two towers whose losses are made of predictions between 0 and 1, and a mask."""

    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        parts = tf.split(v1.placeholder(tf.float32, [8, 4], "x"), 2)
        masks = tf.split(v1.placeholder(tf.float32, [8, 3], "mask"), 2)
        gradients = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                loss = make_loss(tf.sigmoid(parts[tower] @ w), masks[tower])
                gradients.append(tf.gradients(loss, [w])[0])
        total = tf.add_n(gradients) / combine
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(total, w)], name="train")

    analysed = AnalysedStep(
        analyse_graph(saved(traced(build), trainable_variables=["w"]), "made-for-a-test", ["train"])
    )
    return list(ratio_sentences(analysed, analysed.phases[0]))


def overlap(y, mask):
    return 1.0 - (2.0 * tf.reduce_sum(y * mask) + 1.0) / (tf.reduce_sum(y * y) + tf.reduce_sum(mask) + 1.0)


def intersection_over_union(y, mask):
    both = tf.reduce_sum(y * mask)
    return tf.reduce_mean(tf.square(y - mask)) + 1.0 - both / tf.reduce_sum(y + mask - y * mask)


@pytest.mark.parametrize("make_loss", [overlap, intersection_over_union])
def test_ratios_of_sums_over_a_towers_examples_are_named(make_loss):
    (text,) = sentences(make_loss)
    assert "a ratio of two sums over its examples" in text and "gradients are averaged" in text
    assert not sentences(make_loss, combine=1.0)  # of sums, the rule for sums tells


def of_each_example(y, mask):
    return tf.reduce_mean(tf.reduce_sum(y * mask, 1) / tf.reduce_sum(y + mask, 1))


def over_a_count(y, mask):
    return tf.reduce_sum(tf.square(y) * mask) / tf.reduce_sum(mask)


def scaled_by_itself(y, mask):
    error = tf.reduce_mean(tf.square(y - mask))
    return error / tf.stop_gradient(error)


@pytest.mark.parametrize("make_loss", [of_each_example, over_a_count, scaled_by_itself])
def test_ratios_of_examples_and_those_by_numbers_of_data_are_not(make_loss):
    assert not sentences(make_loss)
