"""Clipped surrogates that take the worse of two values, and the better."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.reinforcement.clipped_ratios import optimistic_surrogates
from tests.legacy.saved.hazards.minimized import fed, found, variable

v1 = tf.compat.v1


@pytest.mark.parametrize(
    "choose, count",
    [
        (lambda free, clipped: -tf.maximum(free, clipped), 1),
        (lambda free, clipped: tf.minimum(-free, -clipped), 1),
        (lambda free, clipped: -tf.minimum(free, clipped), 0),
        (lambda free, clipped: tf.maximum(-free, -clipped), 0),
        (lambda free, clipped: -clipped, 0),
    ],
)
def test_a_surrogate_of_the_better_value_is_named(choose, count):
    def total():
        logits, actions = fed("x", 8, 4) @ variable("w", 4, 3), fed("actions", 8, dtype=tf.int32)
        new = tf.reduce_sum(tf.one_hot(actions, 3) * tf.nn.log_softmax(logits), 1)
        ratio, advantages = tf.exp(new - fed("old", 8)), fed("advantages", 8)
        return tf.reduce_mean(choose(ratio * advantages, tf.clip_by_value(ratio, 0.8, 1.2) * advantages))

    assert found(optimistic_surrogates, total) == ["CLIPPING_OPTIMISTIC"] * count


@pytest.mark.parametrize(
    "lower, upper, count",
    [
        (lambda share: 1.0 - share, lambda share: 1.0 + share, 1),
        (lambda share: 1.0 - share, lambda share: share + 1.0, 1),
        (lambda share: 1.0 - share, lambda share: share * 6.0, 0),  # another bound
    ],
)
def test_the_bounds_may_be_fed(lower, upper, count):
    """As PPO's clip range is, where it falls with the step."""

    def total():
        logits, actions = fed("x", 8, 4) @ variable("w", 4, 3), fed("actions", 8, dtype=tf.int32)
        new = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=actions, logits=logits)
        ratio, losses, share = (
            tf.exp(fed("old", 8) - new),
            -fed("advantages", 8),
            v1.placeholder_with_default(0.2, [], "clip_range"),
        )
        clipped = tf.maximum(tf.minimum(ratio, upper(share)), lower(share))
        return tf.reduce_mean(tf.minimum(losses * ratio, losses * clipped))

    assert found(optimistic_surrogates, total) == ["CLIPPING_OPTIMISTIC"] * count


@pytest.mark.parametrize(
    "choose, change, count",
    [
        (tf.minimum, lambda value, old: value - old, 1),
        (tf.maximum, lambda value, old: value - old, 0),
        (tf.minimum, lambda value, old: value - 2.0 * old, 0),
    ],
)
def test_the_smaller_of_the_free_and_the_clipped_error_of_a_value_is_named(choose, change, count):
    def total():
        value = tf.reduce_sum(fed("x", 8, 4) @ variable("w", 4, 1), 1)
        old, returns = fed("old", 8), fed("returns", 8)
        clipped = old + tf.clip_by_value(change(value, old), -0.2, 0.2)
        return 0.5 * tf.reduce_mean(choose(tf.square(value - returns), tf.square(clipped - returns)))

    assert found(optimistic_surrogates, total) == ["CLIPPING_OPTIMISTIC"] * count
