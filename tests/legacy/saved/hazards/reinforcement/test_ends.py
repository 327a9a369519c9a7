"""Returns that add the next state's value where an episode goes on, and where it has ended."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.reinforcement.ends import values_of_ended_episodes
from tests.legacy.saved.hazards import minimized


def returned(flag, name="done"):
    def loss():
        w = minimized.variable("w", 4, 3)
        following = tf.reduce_max(minimized.fed("next", 6, 4) @ w, 1)
        target = minimized.fed("reward", 6) + 0.99 * flag(minimized.fed(name, 6)) * following
        value = tf.reduce_max(minimized.fed("state", 6, 4) @ w, 1)
        return tf.reduce_mean(tf.square(tf.stop_gradient(target) - value))

    return loss


@pytest.mark.parametrize(
    "flag, name, count",
    [
        (lambda d: d, "done", 1),
        (lambda d: tf.cast(tf.cast(d, tf.bool), tf.float32), "is_terminal", 1),
        (lambda d: 1.0 - d, "done", 0),
        (lambda d: d, "not_done", 0),
        (lambda d: d, "nonterminal", 0),
        (lambda d: d, "discount", 0),
        (lambda d: d, "trend", 0),
        (lambda d: d, "end_discount", 0),  # of what is behind the end of n steps
        (lambda d: d, "done_ph", 1),
        (lambda d: d, "terminals_batch_1", 1),
    ],
)
def test_a_value_behind_the_end_of_an_episode_is_named(flag, name, count):
    assert minimized.found(values_of_ended_episodes, returned(flag, name)) == ["VALUE_OF_ENDED"] * count
