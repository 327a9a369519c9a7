"""Means over positions that a mask leaves out, beside clean twins."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.losses.masks import masked_after_the_mean, masked_means
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


@pytest.mark.parametrize(
    "mean, count",
    [
        (lambda values, mask: tf.reduce_mean(values * mask), 1),
        (lambda values, mask: tf.reduce_sum(values * mask) / tf.reduce_sum(mask), 0),
        (lambda values, mask: tf.reduce_mean(values * mask) / tf.reduce_mean(mask), 0),
        (lambda values, mask: tf.reduce_mean(values * tf.cast(values > 0.5, tf.float32)), 0),  # the hard examples
        (lambda values, mask: tf.reduce_mean(values * v1.placeholder(tf.float32, [2, 3], "weights")), 0),
    ],
)
def test_means_of_masked_values_are_named(mean, count):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        mask = tf.cast(v1.placeholder(tf.int32, [2, 3], "ids") > 0, tf.float32)
        loss = mean(tf.square(v1.placeholder(tf.float32, [2, 4], "x") @ w), mask)
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    found = masked_means(WholeGraph(saved(traced(build), trainable_variables=["w"])))
    assert [hazard.id for hazard in found] == ["MASKED_MEAN"] * count


def given(shape):
    return v1.placeholder(tf.float32, shape, "weights")


def of_rows(values):
    labels = tf.one_hot(v1.placeholder(tf.int32, [2], "labels"), 3)
    return -tf.reduce_sum(labels * tf.math.log(tf.nn.softmax(values)), 1)


@pytest.mark.parametrize(
    "total, count",
    [
        (lambda values, mask: tf.reduce_sum(tf.reduce_mean(values) * mask) / tf.reduce_sum(mask), 1),
        (lambda values, mask: tf.reduce_sum(values * mask) / tf.reduce_sum(mask), 0),
        (lambda values, mask: tf.reduce_sum(tf.reduce_mean(values, 1, keepdims=True) * mask), 0),
        (lambda values, mask: tf.reduce_mean(tf.reduce_mean(values) * given([2])), 1),
        (lambda values, mask: tf.reduce_mean(tf.reduce_mean(of_rows(values)) * given([4])[:2]), 1),
        (lambda values, mask: tf.reduce_mean(of_rows(values) * given([2])), 0),
        (lambda values, mask: tf.reduce_mean(tf.reduce_mean(values) * given([])), 0),  # the weight of a term
    ],
)
def test_a_mask_that_multiplies_a_mean_is_named(total, count):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        mask = tf.cast(v1.placeholder(tf.int32, [2, 3], "ids") > 0, tf.float32)
        loss = total(tf.square(v1.placeholder(tf.float32, [2, 4], "x") @ w), mask)
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    found = masked_after_the_mean(WholeGraph(saved(traced(build), trainable_variables=["w"])))
    assert [hazard.id for hazard in found] == ["MASK_OF_A_MEAN"] * count
