"""Vectors that are divided by their norms, beside those that are divided by something else."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.models.classes.unit_vectors import normalized_along
from tests.legacy.saved.hazards import minimized
from workloads.lifted.graph import TensorId


@pytest.mark.parametrize(
    "normalize, axis",
    [
        (lambda x: tf.nn.l2_normalize(x, 1), 1),
        (lambda x: x / tf.norm(x, axis=1, keepdims=True), 1),
        (lambda x: x / tf.norm(x, axis=0, keepdims=True), 0),
        (lambda x: x / (tf.reduce_sum(tf.square(x), 1, keepdims=True) + 1.0), None),
        (lambda x: 2.0 * x, None),
    ],
)
def test_vectors_over_their_norms(normalize, axis):
    def total():
        return tf.reduce_sum(tf.identity(normalize(minimized.fed("x", 8, 4) @ minimized.variable("w", 4, 3)), "unit"))

    found = normalized_along(WholeGraph(minimized.minimizing(total)), TensorId("unit", 0))
    assert (None if found is None else found[1]) == axis
