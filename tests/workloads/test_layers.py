import numpy as np
import pytest
import tensorflow as tf

from tests.workloads.test_scope import StubFrame
from workloads import layers
from workloads.scope import Scope


class ValueFrame(StubFrame):
    """Answers with given values, by the end of the name."""

    def __init__(self, values, dtype="float32"):
        super().__init__(dtype, 0, tf.constant(0, tf.int64), 0)
        self._values = values

    def variable(self, name, shape, initializer, trainable):
        value = tf.constant(self._values[name], self.dtype)
        assert tuple(value.shape) == shape
        return value


def test_local_response_norm_in_float64_is_the_ops_formula():
    x = np.random.RandomState(0).standard_normal((2, 3, 3, 12))
    op = tf.nn.local_response_normalization(tf.constant(x, tf.float32), 4, 1.0, 0.001 / 9.0, 0.75)
    ours = layers.local_response_norm(tf.constant(x, tf.float64))
    assert ours.dtype == tf.float64
    np.testing.assert_allclose(ours, op, rtol=1e-6)  # float32's rounding of the op
    assert np.abs(ours - layers.local_response_norm(tf.constant(x), radius=3)).max() > 1e-5


def test_batch_norm_normalizes_and_stores_the_unbiased_variance():
    x = np.random.RandomState(0).standard_normal((4, 3)).astype("float32") * 3 + 1
    values = {"gamma": np.ones(3), "beta": np.zeros(3), "moving_mean": np.zeros(3), "moving_variance": np.ones(3)}
    frame = ValueFrame(values)
    y = layers.batch_norm(Scope(frame), tf.constant(x), momentum=0.75, epsilon=0.0)
    np.testing.assert_allclose(y, (x - x.mean(0)) / x.std(0), rtol=1e-5)
    np.testing.assert_allclose(frame.updates["moving_mean"], 0.25 * x.mean(0), rtol=1e-5)
    np.testing.assert_allclose(frame.updates["moving_variance"], 0.75 + 0.25 * x.var(0, ddof=1), rtol=1e-5)


def test_dropout_keeps_the_share_and_the_mean():
    x = tf.ones([4000])
    y = layers.dropout(Scope(StubFrame("float32", 0, tf.constant(0, tf.int64), 0)), x, 0.25).numpy()
    assert set(np.unique(y)) == {0.0, np.float32(1 / 0.75)}
    assert abs((y == 0).mean() - 0.25) < 0.03  # four standard errors
    assert layers.dropout(None, x, 0.0) is x


def test_lstm_is_basic_lstm_cell():
    rng = np.random.RandomState(0)
    kernel, bias, xs = rng.randn(5, 8), rng.randn(8), rng.randn(3, 4, 3)
    outputs = layers.lstm(Scope(ValueFrame({"kernel": kernel, "bias": bias}, "float64")), list(tf.constant(xs)), 2)
    h = c = np.zeros((4, 2))
    for x, output in zip(xs, outputs):
        i, j, f, o = np.split(np.concatenate([x, h], 1) @ kernel + bias, 4, axis=1)
        c = c / (1 + np.exp(-(f + 1.0))) + np.tanh(j) / (1 + np.exp(-i))
        h = np.tanh(c) / (1 + np.exp(-o))
        np.testing.assert_allclose(output, h, rtol=1e-12)


@pytest.mark.parametrize("bias_shape", [None, ()])
def test_dense_with_vector_or_scalar_bias(bias_shape):
    bias = 2.0 if bias_shape == () else [2.0, 2.0]
    frame = ValueFrame({"weights": [[1.0, 2.0], [3.0, 4.0]], "biases": bias})
    y = layers.dense(Scope(frame), tf.constant([[1.0, 1.0]]), 2, bias_shape=bias_shape, decay=0.5)
    np.testing.assert_array_equal(y, [[6.0, 8.0]])
    assert float(frame.penalties[0]) == 0.5 * 30 / 2
