"""A difference of a tensor and itself in a loss, beside clean twins."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.losses.differences import differences_of_one
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


@pytest.mark.parametrize(
    "other, count",
    [(tf.identity, 1), (tf.stop_gradient, 0), (tf.nn.relu, 0), (lambda anchor: tf.roll(anchor, 1, 0), 0)],
)
def test_a_difference_of_a_result_and_itself_is_named(other, count):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        anchor = v1.placeholder(tf.float32, [2, 4], "x") @ w
        loss = tf.reduce_mean(tf.square(anchor - other(anchor))) + tf.reduce_mean(anchor)
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    found = differences_of_one(WholeGraph(saved(traced(build), trainable_variables=["w"])))
    assert [hazard.id for hazard in found] == ["DIFFERENCE_OF_ONE"] * count
