"""Masks that multiply a mean, beside those that multiply the losses of the positions."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.losses.masks.masks_of_means import masked_after_the_mean, means_of_weights
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def given(shape):
    return v1.placeholder(tf.float32, shape, "weights")


def by_class():
    table = tf.constant([0.5, 1.0, 2.0])
    return tf.gather(table, v1.placeholder(tf.int32, [2], "classes"))


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
        (lambda values, mask: tf.reduce_mean(tf.reduce_mean(of_rows(values)) * by_class()), 1),
        (lambda values, mask: tf.reduce_mean(of_rows(values) * by_class()), 0),
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


@pytest.mark.parametrize(
    "total, count",
    [
        (lambda errors, w: tf.reduce_mean(errors) * w, 1),
        (lambda errors, w: v1.losses.compute_weighted_loss(errors) * w, 1),  # its default is a mean, and no row's error
        (lambda errors, w: v1.losses.compute_weighted_loss(errors, reduction="none") * w, 0),
        (lambda errors, w: v1.losses.compute_weighted_loss(errors, w), 0),
        (lambda errors, w: tf.reduce_mean(errors) * w[:1], 1),
        (lambda errors, w: tf.reduce_mean(errors) * tf.reduce_sum(w), 0),
    ],
)
@pytest.mark.parametrize("errors_of", [tf.square, lambda gap: tf.where(tf.abs(gap) < 1.0, 0.5 * gap**2, tf.abs(gap))])
def test_the_errors_of_chosen_actions_are_weighed_before_their_mean(total, count, errors_of):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        actions = tf.one_hot(v1.placeholder(tf.int32, [8], "actions"), 3)
        chosen = tf.reduce_sum((v1.placeholder(tf.float32, [8, 4], "x") @ w) * actions, 1)
        errors = errors_of(chosen - v1.placeholder(tf.float32, [8], "targets"))
        loss = tf.reduce_mean(total(errors, v1.placeholder(tf.float32, [8], "weights")))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    found = masked_after_the_mean(WholeGraph(saved(traced(build), trainable_variables=["w"])))
    assert [hazard.id for hazard in found] == ["MASK_OF_A_MEAN"] * count


def test_one_weight_for_all_rows_may_multiply_their_mean():
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        labels = v1.placeholder(tf.int32, [8], "labels")
        logits = v1.placeholder(tf.float32, [8, 4], "x") @ w
        errors = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        loss = tf.reduce_mean(tf.reduce_mean(errors) * v1.placeholder(tf.float32, [1], "weight"))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    assert not list(masked_after_the_mean(WholeGraph(saved(traced(build), trainable_variables=["w"]))))


@pytest.mark.parametrize(
    "total, name, shape, count",
    [
        (lambda losses, w: tf.reduce_mean(losses) * tf.reduce_mean(w), "weights", [2], 1),
        (lambda losses, w: tf.reduce_mean(w) * tf.reduce_mean(losses), "loss_mask", [2], 1),
        (lambda losses, w: tf.reduce_mean(losses * w), "weights", [2], 0),
        (lambda losses, w: tf.reduce_mean(losses) * tf.reduce_mean(w), "rewards", [2], 0),
        (lambda losses, w: tf.reduce_mean(losses) * tf.reduce_mean(w), "weight", [], 0),  # of a term
        (lambda losses, w: tf.reduce_mean(losses) * (tf.reduce_sum(w) / 2.0), "weights", [2], 0),
    ],
)
def test_the_mean_of_weights_times_that_of_losses_is_named(total, name, shape, count):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        losses = of_rows(v1.placeholder(tf.float32, [2, 4], "x") @ w)
        loss = total(losses, v1.placeholder(tf.float32, shape, name))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    found = means_of_weights(WholeGraph(saved(traced(build), trainable_variables=["w"])))
    assert [hazard.id for hazard in found] == ["MASK_OF_A_MEAN"] * count
