"""Outputs of towers that are joined in another order than the labels, beside those in order."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.data.outputs import outputs_in_another_order
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def found(order, labels=lambda y: y):
    def build():
        w = v1.get_variable("w", [4, 1], use_resource=False)
        parts = tf.split(v1.placeholder(tf.float32, [8, 4], "x"), 2)
        outputs = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                outputs.append(tf.matmul(parts[tower], w))
        joined = tf.concat([outputs[tower] for tower in order], 0, name="joined")
        loss = tf.reduce_mean(tf.square(joined - labels(v1.placeholder(tf.float32, [8, 1], "y"))))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train", colocate_gradients_with_ops=True)

    return list(outputs_in_another_order(WholeGraph(saved(traced(build), trainable_variables=["w"]))))


def test_outputs_in_another_order_are_named():
    (hazard,) = found([1, 0])
    assert hazard[:2] == ("INPUTS_NOT_PAIRED", "joined") and "for parts 1, 0 of the batch" in hazard.description


@pytest.mark.parametrize(
    "order, labels", [([0, 1], lambda y: y), ([1, 0], lambda y: tf.concat(tf.split(y, 2)[::-1], 0))]
)
def test_outputs_in_the_order_of_their_labels_are_not(order, labels):
    assert found(order, labels) == []
