"""Flows whose loss adds, or subtracts, the logarithm of what they scale by."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.goals.volumes import volumes_that_shrink
from tests.legacy.saved.hazards.minimized import fed, found, variable


def old_concat(parts, axis):
    """Joins parts as TensorFlow 0.12 does."""
    return tf.raw_ops.Concat(concat_dim=axis, values=parts)


def coupled(scale, volume, target=None, join=tf.concat):
    """A program of one coupling, x * scale(s) + t, whose loss has squares and `volume` times the sum of s."""

    def total():
        first, second = tf.split(fed("x", 8, 6), 2, 1)
        hidden = tf.nn.relu(first @ variable("w", 3, 5))
        s, t = tf.tanh(hidden @ variable("s", 5, 3)), hidden @ variable("t", 5, 3)
        result = join([scale(second, s) + t, first], 1) if target is None else scale(second, s) - target()
        prior = -0.5 * tf.reduce_sum(tf.square(result), 1)
        return -tf.reduce_mean(prior + volume * tf.reduce_sum(s, 1))

    return found(volumes_that_shrink, total)


@pytest.mark.parametrize("join", [tf.concat, old_concat])
@pytest.mark.parametrize(
    "scale, volume, count",
    [
        (lambda x, s: x * tf.exp(s), 1.0, 0),
        (lambda x, s: x * tf.exp(s), -1.0, 1),
        (lambda x, s: x * tf.exp(-s), -1.0, 0),
        (lambda x, s: x * tf.exp(-s), 1.0, 1),
        (lambda x, s: x + s, -1.0, 0),
    ],
)
def test_a_volume_with_the_wrong_sign_is_named(scale, volume, count, join):
    assert coupled(scale, volume, join=join) == ["VOLUME_WITH_WRONG_SIGN"] * count


def test_a_penalty_of_scales_beside_errors_is_not():
    assert coupled(lambda x, s: x * tf.exp(s), -1.0, lambda: fed("y", 8, 3)) == []
