"""Contrastive losses with one temperature, and with that of one side."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.asymmetries.contrasts import scales_of_one_side
from tests.legacy.saved.hazards.minimized import fed, found, variable


@pytest.mark.parametrize(
    "pair, pairs, count",
    [(10.0, 1.0, 1), (1.0, 10.0, 1), (10.0, 10.0, 0), (1.0, 1.0, 0)],
)
def test_a_temperature_of_own_pairs_alone_is_named(pair, pairs, count):
    def total():
        z, u = (tf.nn.l2_normalize(fed(name, 8, 4) @ variable("w" + name, 4, 3), 1) for name in "ab")
        own = pair * tf.reduce_sum(z * u, 1)
        others = pairs * tf.matmul(z, u, transpose_b=True) - 1e9 * tf.eye(8)
        return tf.reduce_mean(tf.reduce_logsumexp(others, 1) - own)

    assert found(scales_of_one_side, total) == ["TEMPERATURE_OF_ONE_SIDE"] * count


def test_a_scale_that_is_trained_is_not():
    def total():
        z, u = (fed(name, 8, 4) @ variable("w" + name, 4, 3) for name in "ab")
        scale = tf.exp(variable("scale"))
        own = scale * tf.reduce_sum(z * u, 1)
        return tf.reduce_mean(tf.reduce_logsumexp(scale * tf.matmul(z, u, transpose_b=True), 1) - own)

    assert found(scales_of_one_side, total) == []
