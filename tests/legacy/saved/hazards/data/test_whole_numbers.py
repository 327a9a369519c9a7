"""Bytes and steps that are divided as whole numbers, beside clean twins."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.data.whole_numbers import divided_whole_numbers, steps_divided_as_whole_numbers
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


@pytest.mark.parametrize(
    "scaled, count",
    [
        (lambda x: tf.cast(x // 255, tf.float32), 1),
        (lambda x: tf.cast(tf.cast(x, tf.int32) // 256, tf.float32), 1),
        (lambda x: tf.cast(x, tf.float32) / 255.0, 0),
        (lambda x: tf.cast(tf.cast(x, tf.int32) // 2, tf.float32), 0),
    ],
)
def test_bytes_that_are_divided_as_whole_numbers_are_named(scaled, count):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        loss = tf.reduce_mean(tf.square(scaled(v1.placeholder(tf.uint8, [2, 4], "x")) @ w))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    found = divided_whole_numbers(WholeGraph(saved(traced(build), trainable_variables=["w"])))
    assert [hazard.id for hazard in found] == ["DIVIDED_AS_WHOLE_NUMBERS"] * count


def warmup(step):
    return 0.1 * tf.cast(step // 100, tf.float32)


def decayed(step):
    return v1.train.exponential_decay(0.1, step, 100, 0.5)


@pytest.mark.parametrize(
    "rate, count",
    [
        (lambda step: 0.5 * tf.cast(step // 100, tf.float32), 1),
        (lambda step: 0.5 * tf.minimum(1.0, tf.cast(step // 100, tf.float32)), 1),
        (lambda step: tf.where(step < 100, warmup(step), decayed(step)), 1),
        (lambda step: tf.where(step >= 100, decayed(step), warmup(step)), 1),
        (lambda step: tf.where(step < 100, decayed(step), warmup(step)), 0),
        (lambda step: 0.5 * tf.minimum(1.0, tf.cast(step, tf.float32) / 100.0), 0),
        (lambda step: 0.5 * tf.pow(0.5, tf.cast(step // 100, tf.float32)), 0),  # a staircase
        (lambda step: 0.5 * tf.cast(1 + step // 100, tf.float32), 0),
    ],
)
def test_a_learning_rate_that_is_0_while_a_whole_number_is_is_named(rate, count):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        step = v1.get_variable("global_step", [], tf.int64, v1.zeros_initializer(), trainable=False)
        loss = tf.reduce_mean(tf.square(v1.placeholder(tf.float32, [2, 4], "x") @ w))
        v1.train.GradientDescentOptimizer(rate(step)).minimize(loss, step, name="train")

    found = steps_divided_as_whole_numbers(WholeGraph(saved(traced(build), trainable_variables=["w"])))
    assert [hazard.id for hazard in found] == ["DIVIDED_AS_WHOLE_NUMBERS"] * count
