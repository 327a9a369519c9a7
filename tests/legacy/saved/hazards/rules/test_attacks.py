"""Adversarial examples that are moved up the gradient of their loss, and down."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.rules.attacks import attacks_that_help
from tests.legacy.saved.hazards import minimized


def trained(move, aims=False):
    def loss():
        x, y = minimized.fed("x", 6, 4), minimized.fed("y", 6, dtype=tf.int32)
        weight = minimized.variable("w", 4, 3)

        def entropy(examples, labels):
            logits = examples @ weight
            return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))

        clean = entropy(x, y)
        goal = entropy(x, minimized.fed("aim", 6, dtype=tf.int32)) if aims else clean
        (gradient,) = tf.gradients(goal, x)
        return clean + entropy(tf.stop_gradient(move(x, gradient)), y)

    return loss


def over_norm(gradient):
    return gradient / (tf.norm(gradient, axis=1, keepdims=True) + 1e-8)


@pytest.mark.parametrize(
    "move, aims, count",
    [
        (lambda x, g: x - 0.1 * tf.sign(g), False, 1),
        (lambda x, g: tf.clip_by_value(x + (-0.1) * tf.sign(g), 0.0, 1.0), False, 1),
        (lambda x, g: x - 0.1 * over_norm(g), False, 1),
        (lambda x, g: x + 0.1 * tf.sign(g), False, 0),
        (lambda x, g: x - 0.1 * tf.sign(g), True, 0),  # towards another class
        (lambda x, g: x - 0.1 * g, False, 0),  # a step of an optimizer, as of an inner loop
    ],
)
def test_an_attack_that_lowers_the_loss_is_named(move, aims, count):
    assert minimized.found(attacks_that_help, trained(move, aims)) == ["ATTACK_HELPS"] * count
