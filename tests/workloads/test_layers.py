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


def local_response_by_definition(x, radius, bias, alpha, beta):
    """Returns the formula, with shifted channels added up."""
    channels = int(x.shape[-1])
    padded = tf.pad(tf.square(x), [[0, 0], [0, 0], [0, 0], [radius, radius]])
    window = tf.add_n([padded[..., shift : shift + channels] for shift in range(2 * radius + 1)])
    return x / tf.pow(bias + alpha * window, beta)


def with_gradient(function, x, *constants):
    """Returns (result, gradient of a weighted sum of it)."""
    weights = tf.constant(np.random.RandomState(1).standard_normal(x.shape), x.dtype)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x, *constants)
    return y.numpy(), tape.gradient(y, x, output_gradients=weights).numpy()


LOCAL_RESPONSES = [
    (12, 4, 1.0, 0.001 / 9.0, 0.75),
    (12, 2, 2.0, 0.5, 0.75),
    (12, 2, 2.0, 0.5, 0.6),
    (3, 4, 1.0, 0.1, 0.75),
]


@pytest.mark.parametrize("channels, radius, bias, alpha, beta", LOCAL_RESPONSES)
def test_local_response_norm_is_the_ops_formula_in_both_precisions(channels, radius, bias, alpha, beta):
    x = 3 * np.random.RandomState(0).standard_normal((2, 3, 3, channels))
    constants = (radius, bias, alpha, beta)
    wanted = with_gradient(local_response_by_definition, tf.constant(x), *constants)
    double = with_gradient(layers.local_response_norm, tf.constant(x), *constants)
    single = with_gradient(layers.local_response_norm, tf.constant(x, tf.float32), *constants)
    op = with_gradient(tf.nn.local_response_normalization, tf.constant(x, tf.float32), *constants)
    for truth, in_double, in_single, by_op in zip(wanted, double, single, op):
        assert (in_double.dtype, in_single.dtype) == (np.float64, np.float32)
        assert np.abs(in_double - truth).max() < 1e-14 * np.abs(truth).max()
        assert np.abs(in_single - truth).max() < 1e-6 * np.abs(truth).max()  # rounding of float32, as the op's
        assert np.abs(by_op - truth).max() < 1e-6 * np.abs(truth).max()


def test_local_response_norm_with_another_constant_is_seen():
    x = tf.constant(3 * np.random.RandomState(0).standard_normal((2, 3, 3, 12)))
    wanted = with_gradient(local_response_by_definition, x, 4, 1.0, 0.1, 0.75)
    for constants in [(3, 1.0, 0.1, 0.75), (4, 1.01, 0.1, 0.75), (4, 1.0, 0.101, 0.75), (4, 1.0, 0.1, 0.751)]:
        for truth, other in zip(wanted, with_gradient(layers.local_response_norm, x, *constants)):
            assert np.abs(other - truth).max() > 1e-5 * np.abs(truth).max()


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


def lstm_by_definition(x, kernel, bias, forget_bias):
    """Returns the outputs: each time step multiplies its input and the output before it, side by side."""
    h = c = tf.zeros([int(x.shape[0]), int(bias.shape[0]) // 4], x.dtype)
    outputs = []
    for now in tf.unstack(x, axis=1):
        i, j, f, o = tf.split(tf.matmul(tf.concat([now, h], 1), kernel) + bias, 4, axis=1)
        c = c * tf.sigmoid(f + forget_bias) + tf.sigmoid(i) * tf.tanh(j)
        h = tf.tanh(c) * tf.sigmoid(o)
        outputs.append(h)
    return tf.stack(outputs, axis=1)


class TensorFrame(StubFrame):
    """Answers with given tensors, by the end of the name."""

    def __init__(self, tensors, dtype):
        super().__init__(dtype, 0, tf.constant(0, tf.int64), 0)
        self._tensors = tensors

    def variable(self, name, shape, initializer, trainable):
        assert tuple(self._tensors[name].shape) == shape
        return self._tensors[name]


def lstm_layer(x, kernel, bias, forget_bias):
    frame = TensorFrame({"kernel": kernel, "bias": bias}, x.dtype.name)
    return layers.lstm_sequence(Scope(frame), x, int(bias.shape[0]) // 4, forget_bias)


def lstm_pass(layer, shape, dtype, forget_bias=1.0):
    """Returns (outputs, gradients of x, kernel and bias) for (batch, time, features, units)."""
    rng = np.random.RandomState(0)
    batch, time, features, units = shape
    shapes = [(batch, time, features), (features + units, 4 * units), (4 * units,)]
    values = [tf.constant(rng.standard_normal(shape), dtype) for shape in shapes]
    with tf.GradientTape() as tape:
        tape.watch(values)
        outputs = layer(*values, forget_bias)
    weights = tf.constant(rng.standard_normal((batch, time, units)), dtype)
    gradients = tape.gradient(outputs, values, output_gradients=weights, unconnected_gradients="zero")
    return [outputs.numpy(), *(gradient.numpy() for gradient in gradients)]


def largest_gap(made, wanted):
    """Returns the largest difference, relative to the largest entry of each tensor."""
    assert [m.shape for m in made] == [w.shape for w in wanted]
    return max(np.abs(m - w).max() / np.abs(w).max() for m, w in zip(made, wanted))


@pytest.mark.parametrize("shape", [(4, 7, 3, 5), (1, 1, 2, 2), (3, 20, 8, 4)])
def test_lstm_is_basic_lstm_cell(shape):
    truth = lstm_pass(lstm_by_definition, shape, "float64")
    assert largest_gap(lstm_pass(lstm_layer, shape, "float64"), truth) < 1e-12
    assert largest_gap(lstm_pass(lstm_layer, shape, "float32"), truth) < 1e-5
    if shape[1] > 1:  # nothing is forgotten in the first step
        assert largest_gap(lstm_pass(lstm_layer, shape, "float64", 1.001), truth) > 1e-4


def test_lstm_on_a_list_over_time():
    tensors = {"kernel": tf.ones([3, 4]), "bias": tf.ones([4])}
    x = tf.constant(np.random.RandomState(0).standard_normal((2, 5, 2)), tf.float32)
    listed = layers.lstm(Scope(TensorFrame(tensors, "float32")), tf.unstack(x, axis=1), 1)
    sequence = layers.lstm_sequence(Scope(TensorFrame(tensors, "float32")), x, 1)
    np.testing.assert_array_equal(tf.stack(listed, axis=1), sequence)


@pytest.mark.parametrize("bias_shape", [None, ()])
def test_dense_with_vector_or_scalar_bias(bias_shape):
    bias = 2.0 if bias_shape == () else [2.0, 2.0]
    frame = ValueFrame({"weights": [[1.0, 2.0], [3.0, 4.0]], "biases": bias})
    y = layers.dense(Scope(frame), tf.constant([[1.0, 1.0]]), 2, bias_shape=bias_shape, decay=0.5)
    np.testing.assert_array_equal(y, [[6.0, 8.0]])
    assert float(frame.penalties[0]) == 0.5 * 30 / 2


class EvaluationFrame(StubFrame):
    training = False


def test_evaluation_normalizes_by_the_moving_statistics_and_leaves_them():
    frame = ValueFrame({"gamma": [3.0], "beta": [1.0], "moving_mean": [2.0], "moving_variance": [1.0]})
    frame.training = False
    y = layers.batch_norm(Scope(frame), tf.constant([[2.0], [4.0]]), epsilon=3.0)
    assert y.numpy().tolist() == [[1.0], [4.0]] and not frame.updates


def test_evaluation_drops_nothing():
    frame = EvaluationFrame("float32", 0, tf.constant(0, tf.int64), 0)
    x = tf.ones(100)
    assert layers.dropout(Scope(frame), x, 0.5) is x and not frame.masks
    assert Scope(StubFrame("float32", 0, tf.constant(0, tf.int64), 0)).training and not Scope(frame).training
