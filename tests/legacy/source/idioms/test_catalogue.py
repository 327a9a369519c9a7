"""Idioms: several ops that one expression builds again, and ops that change nothing."""

import numpy as np
import tensorflow as tf

from legacy.source.idioms import catalogue, cells
from tests.legacy.source.tiny import written

X = {"x": [3]}


def normalized(x, gamma, beta):
    mean, variance = tf.nn.moments(x, [0])
    return tf.nn.batch_normalization(x, mean, variance, beta, gamma, 0.25)


def test_moments_and_batch_normalization_are_recognised():
    lines = written(normalized, X, {"gamma": [3], "beta": [3]})
    assert lines == [
        'x = batch["x"]',
        "mean, variance = tf.nn.moments(x, [0])",
        'return tf.nn.batch_normalization(x, mean, variance, scope.get("beta", (3,)), scope.get("gamma", (3,)), 0.25)',
    ]


def test_a_normalization_whose_scale_differs_is_written_op_by_op():
    def build(x, gamma, beta):
        mean, variance = tf.nn.moments(x, [0])
        scale = tf.math.rsqrt(variance + 0.25)
        return x * (scale * gamma) + (beta - mean * scale)

    text = "\n".join(written(build, X, {"gamma": [3], "beta": [3]}))
    assert "tf.nn.batch_normalization" not in text and "tf.math.rsqrt" in text


def test_sigmoid_cross_entropy_is_recognised_by_its_ops():
    def build(x):
        return tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.square(x), logits=x)

    assert (
        written(build, X)[-1]
        == "return tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.square(logits), logits=logits)"
    )

    def other(x):
        return tf.where(x >= 0.0, x, tf.zeros_like(x)) - x * x + tf.math.log1p(tf.exp(-x))

    assert "sigmoid" not in "".join(written(other, X))


def test_sigmoid_cross_entropy_of_many_examples_fills_its_zeros():
    """TensorFlow makes zeros of a known shape by Fill where a constant would be large."""

    def loss_above(least):
        def loss(x):
            zeros = tf.raw_ops.Fill(dims=tf.shape(x), value=least)
            positive = x >= zeros
            minus = tf.raw_ops.Select(condition=positive, x=-x, y=x)
            bounded = tf.raw_ops.Select(condition=positive, x=x, y=zeros)
            return bounded - x * tf.square(x) + tf.math.log1p(tf.exp(minus))

        return loss

    assert "tf.nn.sigmoid_cross_entropy_with_logits(" in written(loss_above(0.0), X)[-1]
    assert "sigmoid" not in "".join(written(loss_above(0.5), X))


def test_a_range_that_is_computed_clips_too():
    """As of a policy's ratio within 1 - range and 1 + range, where the range is fed."""

    def clipped(x, w):
        width = tf.reduce_sum(w)
        return tf.clip_by_value(x, -width, width)

    assert written(clipped, X, {"w": [2]})[-1].startswith('return tf.clip_by_value(batch["x"], -')
    rows = written(lambda x, w: tf.maximum(tf.minimum(x, w), -w), X, {"w": [3]})  # broadcast: clip_by_value has no rows
    assert "clip_by_value" not in "".join(rows)


def test_the_logarithm_of_a_sigmoid_is_recognised():
    assert written(lambda x: tf.math.log_sigmoid(-x), X) == ['return tf.math.log_sigmoid(-batch["x"])']
    for other in (lambda x: -tf.nn.softplus(x), lambda x: tf.nn.softplus(-x)):
        assert "log_sigmoid" not in "".join(written(other, X))


def test_ops_that_change_no_bit_are_left_out():
    assert written(lambda x: tf.identity(tf.reshape(x, tf.shape(x))) * 1.0 - 0.0, X) == ['return batch["x"]']
    assert written(lambda x: x + 0.0, X) == ['return batch["x"] + 0.0']  # -0.0 + 0.0 is 0.0


LAST, FIRST = [0, 2, 3, 1], [0, 3, 1, 2]


def test_paddings_and_tilings_that_change_nothing_are_left_out():
    """A program of 2018 pads by hand before each convolution, also before those of 1x1."""
    assert written(lambda x: tf.tile(tf.pad(x, [[0, 0], [0, 0]]), [1, 1]), X) == ['return batch["x"]']
    assert "tf.pad" in written(lambda x: tf.pad(x, [[0, 0], [1, 0]]), X)[-1]
    assert "tf.tile" in written(lambda x: tf.tile(x, [1, 2]), X)[-1]


def test_transpositions_that_undo_each_other_are_left_out():
    images = {"x": [2, 3, 5]}
    assert written(lambda x: tf.transpose(tf.transpose(x, LAST), FIRST), images) == ['return batch["x"]']
    around = written(lambda x: tf.transpose(tf.nn.relu(tf.transpose(x, LAST)), FIRST), images)
    assert around == ['return tf.nn.relu(batch["x"])']
    other = written(lambda x: tf.transpose(tf.nn.relu(tf.transpose(x, LAST)), LAST), images)
    assert "".join(other).count("tf.transpose(") == 2


def test_every_output_of_a_copy_of_several_tensors_is_its_input():
    assert written(lambda x: tf.identity_n([x, tf.square(x)])[1], X) == ['return tf.square(batch["x"])']


def test_a_guarded_division_by_a_known_number_needs_no_guard():
    def build(x):
        return tf.math.divide_no_nan(tf.reduce_sum(x), tf.cast(tf.shape(x)[0], tf.float32))

    assert written(build, X)[-1] == 'return tf.reduce_sum(batch["x"]) / batch_size'
    assert "divide_no_nan" in written(lambda x: tf.math.divide_no_nan(1.0, x), X)[0]


def test_a_clip_by_value_is_recognised_by_its_ops():
    assert written(lambda x: tf.clip_by_value(x, -0.5, 2.0), X) == ['return tf.clip_by_value(batch["x"], -0.5, 2.0)']
    assert "clip_by_value" not in "".join(written(lambda x: tf.minimum(tf.maximum(x, -0.5), 2.0), X))


def test_a_mask_of_sequences_is_recognised_by_its_ops():
    def mask(x):
        lengths = tf.cast(x[:, 0], tf.int32)
        return x[:, 1:] * tf.cast(tf.sequence_mask(lengths, 4), tf.float32)

    assert "tf.sequence_mask(tf.cast(x[:, 0], tf.int32), 4)" in "".join(written(mask, {"x": [5]}))
    counted = written(lambda x: x * tf.range(5.0), {"x": [5]})
    assert "sequence_mask" not in "".join(counted)


def test_every_idiom_is_of_an_op_that_exists():
    assert all(hasattr(tf.raw_ops, name) for name in catalogue.IDIOMS)


def cell(x, kernel, bias, order=("i", "j", "f", "o")):
    state = tf.zeros([4, 2])
    gates = tf.nn.bias_add(tf.matmul(tf.concat([x, state], 1), kernel), bias)
    parts = dict(zip(order, tf.split(gates, 4, axis=1)))
    c = tf.sigmoid(parts["f"] + 1.0) * tf.square(x[:, :2]) + tf.sigmoid(parts["i"]) * tf.tanh(parts["j"])
    return tf.sigmoid(parts["o"]) * tf.tanh(c) + c


def test_an_lstm_cell_is_recognised_by_its_ops_and_one_with_other_gates_is_not():
    shapes = {"kernel": [5, 8], "bias": [8]}
    text = "\n".join(written(cell, X, shapes, batch=4))
    assert "c, h = lstm_cell(" in text and "tf.tanh" not in text and text.endswith("return h + c")

    def other(x, kernel, bias):
        return cell(x, kernel, bias, order=("i", "f", "j", "o"))

    text = "\n".join(written(other, X, shapes, batch=4))
    assert "lstm_" not in text and "tf.tanh" in text


def old_lstm(x, c, h, kernel, bias):
    """An LSTM cell as TensorFlow made it before 1.0: the bias is added, and not by `tf.nn.bias_add`."""
    i, j, f, o = tf.split(tf.matmul(tf.concat([x, h], 1), kernel) + bias, 4, axis=1)
    c = c * tf.sigmoid(f + 0.5) + tf.sigmoid(i) * tf.tanh(j)
    return c - tf.tanh(c) * tf.sigmoid(o)


def test_an_lstm_cell_of_before_1_0_is_recognised_and_has_its_bits():
    lines = written(old_lstm, {"x": [3], "c": [2], "h": [2]}, {"kernel": [5, 8], "bias": [8]})
    assert "c, h = old_lstm_cell(" in "".join(lines) and "tf.tanh" not in "".join(lines)
    rng = np.random.RandomState(0)
    shapes = [(4, 3), (4, 2), (4, 2), (5, 8), (8,)]
    given = [tf.constant(rng.randn(*shape).astype(np.float32)) for shape in shapes]
    space = {"tf": tf}
    exec("\n".join(cells.FUNCTIONS["old_lstm_cell"]), space)
    c, h = space["old_lstm_cell"](*given, 0.5)
    assert np.array_equal(c - h, old_lstm(*given))


def test_gates_to_which_a_matrix_is_added_are_those_of_no_layer():
    lines = written(old_lstm, {"x": [3], "c": [2], "h": [2]}, {"kernel": [5, 8], "bias": [4, 8]}, batch=4)
    assert "lstm_state(" in "".join(lines) and "old_lstm_cell(" not in "".join(lines)


def gru(x, h, kernel, bias, candidate, candidate_bias, update=lambda u, h, new: u * h + (1.0 - u) * new):
    gates = tf.sigmoid(tf.nn.bias_add(tf.matmul(tf.concat([x, h], 1), kernel), bias))
    r, u = tf.split(gates, 2, axis=1)
    new = tf.tanh(tf.nn.bias_add(tf.matmul(tf.concat([x, r * h], 1), candidate), candidate_bias))
    return update(u, h, new)


GRU = {"kernel": [5, 4], "bias": [4], "candidate": [5, 2], "candidate_bias": [2]}


def test_a_gru_cell_is_recognised_by_its_ops_and_one_with_swapped_gates_is_not():
    inputs = {"x": [3], "h": [2]}
    assert "gru_cell(" in "\n".join(written(gru, inputs, GRU))

    def swapped(x, h, kernel, bias, candidate, candidate_bias):
        return gru(x, h, kernel, bias, candidate, candidate_bias, lambda u, h, new: u * new + (1.0 - u) * h)

    assert "gru_cell(" not in "\n".join(written(swapped, inputs, GRU))


def old_gru(x, h, kernel, bias, candidate, candidate_bias, gates=(0, 1)):
    """A GRU cell as TensorFlow made it before 1.0: a sigmoid for each gate."""
    parts = tf.split(tf.matmul(tf.concat([x, h], 1), kernel) + bias, 2, axis=1)
    r, u = (tf.sigmoid(parts[gate]) for gate in gates)
    new = tf.tanh(tf.matmul(tf.concat([x, r * h], 1), candidate) + candidate_bias)
    return u * h + (1.0 - u) * new


def test_a_gru_cell_of_before_1_0_is_recognised_and_has_its_bits():
    lines = written(old_gru, {"x": [3], "h": [2]}, GRU)
    assert "old_gru_cell(" in "".join(lines)
    rng = np.random.RandomState(0)
    shapes = {"x": (4, 3), "h": (4, 2), **GRU}
    given = {name: tf.constant(rng.randn(*shape).astype(np.float32)) for name, shape in shapes.items()}
    space = {"tf": tf}
    exec("\n".join(cells.FUNCTIONS["old_gru_cell"]), space)
    assert np.array_equal(space["old_gru_cell"](*given.values()), old_gru(**given))


def test_gates_in_another_order_are_no_gru_cell():
    lines = written(lambda **given: old_gru(**given, gates=(1, 0)), {"x": [3], "h": [2]}, GRU)
    assert "gru_cell(" not in "\n".join(lines)


def test_a_dense_layer_on_more_dimensions_is_a_tensordot():
    lines = written(lambda x, w: tf.tensordot(x, w, 1), {"x": [5, 3]}, {"w": [3, 2]})
    assert lines == ['return tf.tensordot(batch["x"], scope.get("w", (3, 2)), 1)']
    plain = written(lambda x, w: tf.matmul(tf.reshape(x, [-1, 6]), w), {"x": [2, 3]}, {"w": [6, 2]})
    assert "tf.tensordot" not in "\n".join(plain)


def test_tensors_with_a_new_dimension_that_are_joined_along_it_are_a_stack():
    def build(x, axis=0, of_second=0):
        return tf.concat([tf.expand_dims(x, axis), tf.expand_dims(-x, of_second)], axis)

    assert written(build, X) == ['x = batch["x"]', "return tf.stack([x, -x])"]
    assert written(lambda x: build(x, 1, 1), X)[-1] == "return tf.stack([x, -x], axis=1)"
    assert "tf.concat" in written(lambda x: tf.concat([tf.expand_dims(x, 0), x[tf.newaxis]], 0), X)[-1]
