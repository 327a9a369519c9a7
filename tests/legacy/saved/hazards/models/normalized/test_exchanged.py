"""Scales and offsets of normalizations, in the order of the arguments and in the opposite one."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.models.normalized.exchanged import scales_for_offsets
from tests.legacy.saved.hazards import minimized

v1 = tf.compat.v1


@pytest.mark.parametrize("scale, offset, count", [(0.0, 1.0, 1), (1.0, 0.0, 0), (0.0, 0.0, 0), (1.0, 1.0, 0)])
def test_a_scale_that_begins_at_0_beside_an_offset_of_1_is_named(scale, offset, count):
    def loss():
        def filled(name, number):
            return v1.get_variable(name, [3], initializer=v1.constant_initializer(number), use_resource=False)

        hidden = minimized.fed("x", 8, 4) @ minimized.variable("w", 4, 3)
        mean, variance = tf.nn.moments(hidden, [0])
        offsets, scales = filled("beta", offset), filled("gamma", scale)
        return tf.reduce_mean(tf.tanh(tf.nn.batch_normalization(hidden, mean, variance, offsets, scales, 1e-3)))

    assert minimized.found(scales_for_offsets, loss) == ["SCALE_AND_OFFSET_EXCHANGED"] * count
