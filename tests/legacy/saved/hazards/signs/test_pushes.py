"""Signs of the derivatives of losses by what layers compute."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.directions import minimized_targets
from legacy.saved.hazards.signs.pushes import Pushes
from tests.legacy.saved.hazards.minimized import fed, minimizing, variable
from workloads.lifted.graph import TensorId


def entropy(logits, labels):
    return tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)


def sign(loss):
    def total():
        h = tf.identity(fed("x", 8, 4) @ variable("w", 4, 3), name="h")
        return tf.reduce_mean(loss(h, fed("y", 8, 3)))

    whole = WholeGraph(minimizing(total))
    return Pushes(whole, minimized_targets(whole)).sign(TensorId("h", 0))


@pytest.mark.parametrize(
    "loss, expected",
    [
        (lambda h, y: h - y, 1),
        (lambda h, y: -tf.exp(h) - 2.0 * h, -1),
        (lambda h, y: tf.exp(h) - h, 0),
        (lambda h, y: tf.concat([h, -tf.exp(-h)], 1), 1),
        (lambda h, y: tf.raw_ops.Concat(concat_dim=1, values=[h, -tf.exp(-h)]), 1),  # as of TensorFlow 0.12
        (lambda h, y: tf.raw_ops.Concat(concat_dim=1, values=[h, -tf.exp(h)]), 0),
        (lambda h, y: h * y, 0),
        (lambda h, y: h * tf.square(y), 1),
        (lambda h, y: tf.square(y - h), 0),
        (lambda h, y: tf.square(y * tf.exp(-h)) - h, -1),  # |y exp(-h)| falls, whatever the sign of y
        (lambda h, y: tf.square(y * tf.exp(-h)) + h, 0),
        (lambda h, y: tf.square(y - tf.exp(-h)) - h, 0),
        (lambda h, y: tf.square(y) / tf.sigmoid(h), -1),
        (lambda h, y: h - tf.stop_gradient(h) * 2.0, 1),
        (lambda h, y: tf.nn.log_softmax(h), 0),
        (lambda h, y: entropy(h, tf.ones_like(h)), -1),
        (lambda h, y: entropy(h, tf.zeros_like(h)), 1),
        (lambda h, y: -entropy(h, tf.zeros([8, 3])), -1),
        (lambda h, y: entropy(h, 0.75 * tf.ones_like(h)), 0),
        (lambda h, y: entropy(h, y), 0),
        (lambda h, y: entropy(h, tf.ones_like(h)) + entropy(h, tf.zeros_like(h)), 0),
    ],
)
def test_signs_of_derivatives(loss, expected):
    assert sign(loss) == expected
