"""Sums over positions that a mask or indices choose, beside sums over all of them."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.inputs.chosen_positions import is_of_chosen_positions
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def is_chosen(elements_of):
    """What is said of the sum of the elements of two examples with five positions each."""

    def build():
        w = v1.get_variable("w", [3, 1], use_resource=False)
        x, kind = v1.placeholder(tf.float32, [2, 5, 3], "x"), v1.placeholder(tf.float32, [2, 5], "kind")
        errors = tf.squeeze(tf.tensordot(x, w, 1), 2)
        loss = tf.reduce_sum(elements_of(errors, kind), name="total")
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    found = analyse_graph(saved(traced(build), trainable_variables=["w"]), "made-for-a-test", ["train"])
    return is_of_chosen_positions(found, "total")


@pytest.mark.parametrize(
    "elements_of, expected",
    [
        (lambda errors, kind: tf.cast(tf.equal(kind, 1.0), tf.float32) * tf.square(errors), True),
        (lambda errors, kind: tf.where(tf.equal(kind, 1.0), tf.square(errors), tf.zeros_like(errors)), True),
        (lambda errors, kind: tf.boolean_mask(tf.square(errors), tf.equal(kind, 1.0)), True),
        (lambda errors, kind: tf.square(errors), False),
        (lambda errors, kind: -kind * tf.nn.log_softmax(errors), False),
        (lambda errors, kind: kind[:, :1] * tf.square(errors), False),  # a weight of each example
        (lambda errors, kind: tf.sigmoid(errors) * errors, False),
    ],
)
def test_a_sum_of_chosen_positions(elements_of, expected):
    assert is_chosen(elements_of) is expected
