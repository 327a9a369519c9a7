"""Idioms of normalizations: rows of length 1; moments and batch normalization are tested among the other idioms."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.source.idioms import normalization
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


@pytest.mark.parametrize("axis, text", [(None, ""), (1, ", axis=1"), ([-1, 1], ", axis=[2, 1]"), ([0, 1, 2], "")])
def test_norms_are_one_function(axis, text):
    def build(x):
        length = tf.sqrt(tf.reduce_sum(x * x, axis, keepdims=True))
        return tf.squeeze(length, axis) * 2.0

    lines = written(build, X)
    assert lines == [f'return tf.norm(batch["x"]{text}) * 2.0']
    x = np.random.RandomState(0).rand(4, 2, 3).astype(np.float32)
    assert np.array_equal(values_of(lines, {"x": x}), build(tf.constant(x)).numpy())


@pytest.mark.parametrize(
    "build",
    [
        lambda x: tf.squeeze(tf.sqrt(tf.reduce_sum(x * (x + 1.0), 1, keepdims=True)), 1),
        lambda x: tf.squeeze(tf.sqrt(tf.reduce_sum(x * x, [0, 1], keepdims=True)), [1]),  # keeps an axis
        lambda x: tf.squeeze(tf.reduce_sum(x * x, 1, keepdims=True), 1),
    ],
)
def test_other_roots_are_written_op_by_op(build):
    assert "tf.norm" not in "".join(written(build, X))


def clipped_by_inverse(x, limit=0.3, inverse=None):
    """What `tf.clip_by_norm` was up to TensorFlow 1.4."""
    root = tf.math.rsqrt(tf.reduce_sum(x * x, [0, 1], keepdims=True))
    least = tf.constant(1.0) / limit if inverse is None else inverse
    return tf.identity(x * limit * tf.minimum(root, least))


@pytest.mark.parametrize("size", [1e-3, 10.0])
def test_clipping_by_a_norm_of_old_releases_is_one_function(size):
    lines = written(lambda w: clipped_by_inverse(w), {}, {"w": [2, 3]})
    assert lines[-1].startswith("return clip_by_inverse_norm(") and lines[-1].endswith(", 0.3)")
    w = (size * np.random.RandomState(0).randn(2, 3)).astype(np.float32)
    space = {"tf": tf, "x": tf.constant(w)}
    exec("\n".join(normalization.FUNCTIONS["clip_by_inverse_norm"]), space)
    assert np.array_equal(eval("clip_by_inverse_norm(x, 0.3)", space), clipped_by_inverse(tf.constant(w)).numpy())


def test_clipping_by_a_norm_of_later_releases_is_tensorflows():
    lines = written(lambda w: tf.clip_by_norm(w, 0.3), {}, {"w": [2, 3]})
    assert lines[-1].startswith("return tf.clip_by_norm(") and lines[-1].endswith(", 0.3)")
    w = np.random.RandomState(0).randn(2, 3).astype(np.float32)
    assert np.array_equal(values_of(lines, {"w": w}), tf.clip_by_norm(w, 0.3).numpy())


@pytest.mark.parametrize(
    "build",
    [
        lambda w: clipped_by_inverse(w, inverse=3.0),  # another limit of the inverse
        lambda w: w * 0.3 * tf.minimum(tf.math.rsqrt(tf.reduce_sum(w * w, [1], keepdims=True)), tf.constant(1.0) / 0.3),
        lambda w: 2.0 * w * 0.3 * tf.minimum(tf.math.rsqrt(tf.reduce_sum(w * w)), tf.constant(1.0) / 0.3),
        lambda w: w * 0.3 / tf.maximum(tf.sqrt(tf.reduce_sum(w * w)), 0.3),  # no derivative at 0
        lambda w: w * 0.3 / tf.maximum(tf.sqrt(tf.reduce_sum(w * w, [0], keepdims=True)), 0.3),
    ],
)
def test_what_is_no_clipping_by_the_norm_of_a_tensor_stays(build):
    assert "clip_by" not in "".join(written(build, {}, {"w": [2, 3]}))
