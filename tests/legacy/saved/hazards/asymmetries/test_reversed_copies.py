"""Target networks that take the trained weights, and that are copied into them."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.asymmetries.reversed_copies import copies_into_trained
from tests.legacy.saved.hazards.minimized import fed, found, variable

v1 = tf.compat.v1


@pytest.mark.parametrize(
    "copy, count",
    [
        (lambda online, target, best: [v1.assign(online, target)], 1),
        (lambda online, target, best: [v1.assign(target, online)], 0),
        (lambda online, target, best: [v1.assign(online, best), v1.assign(best, online)], 0),
        (lambda online, target, best: [v1.assign(online, 0.99 * online + 0.01 * target)], 1),
        (lambda online, target, best: [v1.assign(target, 0.99 * target + 0.01 * online)], 0),
        (lambda online, target, best: [v1.assign(online, 0.99 * online + 0.01 * best)], 0),
        (lambda online, target, best: [v1.assign(online, best)], 0),  # no step reads it: kept values, as of a search
    ],
)
def test_a_copy_of_the_target_into_the_trained_network_is_named(copy, count):
    def total():
        online = variable("online", 4, 3)
        target, best = (
            v1.get_variable(name, [4, 3], trainable=False, use_resource=False) for name in ("target", "best")
        )
        copy(online, target, best)
        x = fed("x", 8, 4)
        return tf.reduce_mean(tf.square(x @ online - tf.stop_gradient(x @ target)))

    assert found(copies_into_trained, total) == ["COPY_REVERSED"] * count


def test_a_copy_of_the_weights_that_a_penalty_draws_to_is_not():
    def total():
        w = variable("w", 4, 3)
        start = v1.get_variable("start", [4, 3], trainable=False, use_resource=False)
        v1.assign(w, start)
        return tf.reduce_mean(tf.square(fed("x", 8, 4) @ w)) + tf.reduce_sum(tf.square(w - start))

    assert found(copies_into_trained, total) == []
