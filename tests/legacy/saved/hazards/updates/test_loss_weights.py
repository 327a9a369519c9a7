"""Trained numbers that weigh terms of a loss, each beside clean twins."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.updates.loss_weights import trained_loss_weights
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def found(loss):
    """The hazards of a loss of a term and two trained numbers, both 0 at first."""

    def build():
        x = v1.placeholder(tf.float32, [2, 4], "x")
        w, s = v1.get_variable("w", [4, 1], use_resource=False), v1.get_variable("s", [2], use_resource=False)
        t = v1.get_variable("t", [], use_resource=False)
        v1.train.GradientDescentOptimizer(0.5).minimize(loss(x @ w, s, t), name="train")

    hazards = trained_loss_weights(WholeGraph(saved(traced(build), trainable_variables=["w", "s", "t"])))
    return [hazard.id for hazard in hazards]


def square(x):
    return tf.reduce_mean(tf.square(x))


@pytest.mark.parametrize(
    "loss, count",
    [
        (lambda x, s, t: t * square(x), 1),
        (lambda x, s, t: tf.exp(-t) * square(x) + t, 0),
        (lambda x, s, t: tf.stop_gradient(square(x)) * t + square(x), 0),  # the multiplier of a constraint
        (lambda x, s, t: -t * tf.stop_gradient(square(x) - 1.0) + square(x), 0),
    ],
)
def test_a_trained_number_that_multiplies_a_term_is_named(loss, count):
    assert found(loss) == ["LOSS_WEIGHT_TRAINED"] * count


@pytest.mark.parametrize(
    "loss, count",
    [
        (lambda x, s, t: tf.exp(-s[0]) * square(x) + 0.5 * tf.exp(-s[1]) * square(x - 1.0), 1),
        (lambda x, s, t: square(x) / (2.0 * tf.square(t)), 1),
        (lambda x, s, t: 0.5 / tf.square(t) * square(x), 1),
        (lambda x, s, t: tf.reduce_sum(tf.exp(-t) * -tf.math.log(tf.sigmoid(x))), 1),
        (lambda x, s, t: tf.exp(-s[0]) * square(x) + tf.exp(-s[1]) * square(x - 1.0) + tf.reduce_sum(s), 0),
        (lambda x, s, t: square(x) / (2.0 * tf.square(t)) + tf.math.log(t), 0),
        (lambda x, s, t: tf.exp(-s[0]) * square(x) + 0.01 * tf.nn.l2_loss(s), 0),
        (lambda x, s, t: tf.reduce_mean(tf.square(x * tf.exp(t) - 1.0)), 0),  # a scale of the network
        (lambda x, s, t: tf.reduce_mean(tf.exp(t) * x) + square(x), 0),  # a critic's, of either sign
        (lambda x, s, t: tf.exp(-t) * square(x) + tf.reduce_mean(t * tf.ones_like(x)), 0),
        (lambda x, s, t: tf.stop_gradient(tf.exp(-t)) * square(x), 0),
        (lambda x, s, t: tf.exp(-t) * square(x) - t, 1),
        (lambda x, s, t: tf.exp(t) * square(x) + 0.5 * t, 1),
        (lambda x, s, t: tf.exp(t) * square(x) - t, 0),
        (lambda x, s, t: tf.exp(-2.0 * t) * square(x) + t, 0),
        (lambda x, s, t: tf.exp(-t) * square(x) - t + tf.square(t), 0),
    ],
)
def test_a_weight_that_falls_beside_no_other_term_is_named(loss, count):
    assert found(loss) == ["LOSS_WEIGHT_TRAINED"] * count
