"""Idioms of normalizations: rows of length 1; moments and batch normalization are tested among the other idioms."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.source.ops import normalization
from tests.legacy.source.tiny import values_of, written

X = {"x": [2, 3]}


@pytest.mark.parametrize(
    "axis, epsilon, text",
    [
        (1, 1e-12, "axis=1"),
        ([1, 2], 1e-12, "axis=[1, 2]"),
        (-1, 0.25, "axis=-1, epsilon=0.25"),
    ],
)
def test_rows_of_length_1_are_one_function(axis, epsilon, text):
    def build(x):
        return tf.nn.l2_normalize(x, axis, epsilon)

    lines = written(build, X)
    assert lines == [f'return tf.nn.l2_normalize(batch["x"], {text})']
    x = np.random.RandomState(0).rand(4, 2, 3).astype(np.float32)
    assert np.array_equal(values_of(lines, {"x": x}), build(tf.constant(x)).numpy())
    assert callable(normalization.match_l2_normalize)


@pytest.mark.parametrize(
    "build",
    [
        lambda x: x * tf.math.rsqrt(tf.maximum(tf.reduce_sum(tf.square(x), 1), 1e-12))[:, None],  # without its axis
        lambda x: x * tf.math.rsqrt(tf.reduce_sum(tf.square(x), 1, keepdims=True) + 1e-12),
        lambda x: x * tf.math.rsqrt(tf.maximum(tf.reduce_sum(tf.square(x + 1.0), 1, keepdims=True), 1e-12)),
    ],
)
def test_other_lengths_are_written_op_by_op(build):
    assert "rsqrt" in "".join(written(build, X))
