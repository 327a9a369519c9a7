"""Quotients by a number of objects or a deviation, which nothing keeps from 0, beside safe ones."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.models.counts import counts_that_may_be_zero
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.saved.hazards.minimized import fed, variable
from tests.legacy.saved.hazards.minimized import found as found_by_check

v1 = tf.compat.v1


def found(divide, choose=lambda labels: labels > 0, of_images=True):
    def build():
        w = v1.get_variable("w", [1, 1, 3, 2], use_resource=False)
        x = v1.placeholder(tf.float32, [2, 4, 4, 3], "x")
        labels = v1.placeholder(tf.int32, [2, 4, 4], "labels")
        logits = (
            tf.nn.conv2d(x, w, 1, "SAME") if of_images else tf.reshape(tf.reshape(x, [32, 3]) @ w[0, 0], [2, 4, 4, 2])
        )
        mask = tf.cast(choose(labels), tf.float32)
        losses = tf.reduce_sum(tf.square(logits), 3) * mask
        loss = divide(tf.reduce_sum(losses), tf.reduce_sum(mask))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    return [h.id for h in counts_that_may_be_zero(WholeGraph(saved(traced(build), trainable_variables=["w"])))]


def test_a_number_of_objects_without_a_bound_is_named():
    assert found(lambda total, count: total / count) == ["COUNT_MAY_BE_ZERO"]


@pytest.mark.parametrize(
    "case",
    [
        {"divide": lambda total, count: total / tf.maximum(count, 1.0)},
        {"divide": lambda total, count: total / (count + 1e-8)},
        {"divide": lambda total, count: total / count, "choose": lambda labels: tf.not_equal(labels, 255)},
        {"divide": lambda total, count: total / count, "of_images": False},
    ],
)
def test_what_is_bounded_or_hardly_zero_is_not(case):
    assert found(**case) == []


def of_examples(divide, dtype=tf.float32):
    """A classifier without images, each of whose examples has a number besides its label."""

    def loss():
        x, number = fed("x", 4, 3), fed("number", 4, dtype=dtype)
        losses = tf.reduce_sum(tf.square(tf.matmul(x, variable("w", 3, 2))), 1)
        return divide(losses, number)

    return found_by_check(counts_that_may_be_zero, loss)


def masked(losses, mask):
    mask = tf.cast(mask, tf.float32)
    return tf.reduce_sum(losses * mask) / tf.reduce_sum(mask)


@pytest.mark.parametrize(
    "divide, dtype",
    [
        (masked, tf.float32),
        (masked, tf.bool),
        (lambda losses, number: masked(losses, number > 0), tf.int32),
        (
            lambda losses, number: tf.cond(
                fed("late", dtype=tf.bool), lambda: masked(losses, number), lambda: tf.reduce_mean(losses)
            ),
            tf.float32,
        ),
        (
            lambda losses, number: masked(losses, tf.equal(number, 1)) * 1.0,
            tf.int32,
        ),
    ],
)
def test_a_number_of_chosen_examples_is_named(divide, dtype):
    assert of_examples(divide, dtype) == ["COUNT_MAY_BE_ZERO"]


@pytest.mark.parametrize(
    "divide, dtype",
    [
        (lambda losses, mask: tf.reduce_sum(losses * mask) / tf.maximum(tf.reduce_sum(mask), 1.0), tf.float32),
        (lambda losses, mask: tf.reduce_sum(losses * mask) / (tf.reduce_sum(mask) + 1e-8), tf.float32),
        (lambda losses, mask: tf.math.divide_no_nan(tf.reduce_sum(losses * mask), tf.reduce_sum(mask)), tf.float32),
        (
            lambda losses, mask: tf.cond(
                tf.reduce_sum(mask) > 0.0, lambda: masked(losses, mask), lambda: 0.0 * tf.reduce_sum(losses)
            ),
            tf.float32,
        ),
        (
            lambda losses, mask: tf.where(tf.reduce_sum(mask) > 0.0, masked(losses, mask), tf.reduce_mean(losses)),
            tf.float32,
        ),
        (lambda losses, lengths: tf.reduce_sum(losses) / tf.cast(tf.reduce_sum(lengths), tf.float32), tf.int32),
        (lambda losses, counts: tf.reduce_sum(losses * (1.0 - counts / tf.reduce_sum(counts))), tf.float32),
    ],
)
def test_a_number_of_examples_that_is_not_zero_or_kept_from_it_is_not(divide, dtype):
    assert of_examples(divide, dtype) == []


def test_a_mask_of_words_is_not():
    def loss():
        x, mask = fed("x", 4, 5, 3), fed("mask", 4, 5)
        losses = tf.reduce_sum(tf.square(tf.matmul(tf.reshape(x, [20, 3]), variable("w", 3, 2))), 1)
        return masked(losses, tf.reshape(mask, [20]))

    assert found_by_check(counts_that_may_be_zero, loss) == []
