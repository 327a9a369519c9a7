"""Quotients by a number of objects or a deviation, which nothing keeps from 0, beside safe ones."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.models.counts import counts_that_may_be_zero, deviations_that_may_be_zero
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.saved.hazards import minimized

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


def deviation(x):
    return tf.sqrt(tf.nn.moments(x, [0])[1])


@pytest.mark.parametrize(
    "normalize, count",
    [
        (lambda x: (x - tf.reduce_mean(x, 0)) / deviation(x), 1),
        (lambda x: 2.0 * (x - tf.reduce_mean(x, 0)) / deviation(x), 1),
        (lambda x: (x - tf.reduce_mean(x, 0)) / tf.sqrt(tf.reduce_mean((x - tf.reduce_mean(x, 0)) ** 2, 0)), 1),
        (lambda x: (x - tf.reduce_mean(x, 0)) / (deviation(x) + 1e-8), 0),
        (lambda x: (x - tf.reduce_mean(x, 0)) / tf.sqrt(tf.nn.moments(x, [0])[1] + 1e-8), 0),
        (lambda x: (x - tf.reduce_mean(x, 0)) / tf.maximum(deviation(x), 0.1), 0),
        (lambda x: x / tf.sqrt(tf.reduce_mean(x**2, 0)), 0),  # no difference from a mean
        (lambda x: (x - 0.5) / deviation(minimized.fed("other", 8, 3)), 0),
    ],
)
def test_a_deviation_to_which_nothing_is_added_is_named(normalize, count):
    def loss():
        normal = normalize(minimized.fed("x", 8, 3))
        return tf.reduce_mean(tf.square(normal @ minimized.variable("w", 3, 2)))

    assert minimized.found(deviations_that_may_be_zero, loss) == ["DEVIATION_MAY_BE_ZERO"] * count
