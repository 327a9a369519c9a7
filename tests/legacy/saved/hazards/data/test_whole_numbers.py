"""Bytes that are divided as whole numbers, beside clean twins."""

import pytest
import tensorflow as tf

from legacy.saved.facts.whole_graph import WholeGraph
from legacy.saved.hazards.data.whole_numbers import divided_whole_numbers
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
