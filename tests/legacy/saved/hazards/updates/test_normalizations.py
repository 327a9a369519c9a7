"""Scales and offsets that normalizations have, in several forms."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.updates.normalizations import parts_of_normalizations
from tests.legacy.saved.hazards.minimized import fed, minimizing, variable


@pytest.mark.parametrize(
    "normalize, names",
    [
        (lambda x, g, b: tf.nn.batch_normalization(x, *tf.nn.moments(x, [0]), b, g, 1e-3), ["g", "b"]),
        (lambda x, g, b: (x - tf.reduce_mean(x, 0)) / tf.sqrt(tf.reduce_mean(x * x, 0) + 1e-3) * g + b, ["g", "b"]),
        (lambda x, g, b: (x - tf.reduce_mean(x, 0)) / tf.reduce_sum(tf.abs(x)) * g + b, []),
        (lambda x, g, b: x * g + b, []),
    ],
)
def test_scales_and_offsets_of_normalizations(normalize, names):
    def loss():
        x = fed("x", 8, 4) @ variable("w", 4, 3)
        return tf.reduce_mean(tf.square(normalize(x, variable("g", 3), variable("b", 3)) - 1.0))

    assert parts_of_normalizations(WholeGraph(minimizing(loss))) == names
