"""Dropout between layers that nothing trains, beside that of trained ones and before them."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.models.frozen_dropout import dropout_of_frozen_layers
from tests.legacy.saved.hazards.minimized import fed, found

v1 = tf.compat.v1


@pytest.mark.parametrize(
    "trained, rate, count",
    [((False, False), 0.5, 1), ((True, True), 0.5, 0), ((False, True), 0.5, 0), ((False, False), None, 0)],
)
def test_dropout_of_a_fixed_network_is_named(trained, rate, count):
    def total():
        h = fed("x", 8, 4)
        for layer, is_trained in enumerate(trained):
            w = v1.get_variable(f"w{layer}", [4, 4], trainable=is_trained, use_resource=False)
            h = h @ w
            given = v1.placeholder_with_default(0.5, [], "rate") if rate is None else rate
            h = v1.nn.dropout(h, rate=given, name=f"dropout{layer}") if not layer else h
        student = fed("x2", 8, 4) @ v1.get_variable("student", [4, 4], use_resource=False)
        return tf.reduce_mean(tf.square(student - h))

    assert found(dropout_of_frozen_layers, total) == ["DROPOUT_OF_FROZEN"] * count
