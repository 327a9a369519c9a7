"""Convolutions, pooling, normalization and losses as text."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.source.ops import neural
from tests.legacy.source.tiny import BATCH, values_of, written

X = {"x": [4, 4, 2]}


@pytest.mark.parametrize(
    "build, line",
    [
        (lambda x: tf.nn.max_pool2d(x, 2, 2, "SAME"), 'return tf.nn.max_pool2d(batch["x"], 2, 2, "SAME")'),
        (lambda x: tf.nn.avg_pool2d(x, [2, 1], 1, "VALID"), 'return tf.nn.avg_pool2d(batch["x"], [2, 1], 1, "VALID")'),
        (
            lambda x: tf.nn.local_response_normalization(x, 1, 1.0, 0.25, 0.5),
            'return tf.nn.local_response_normalization(batch["x"], 1, bias=1.0, alpha=0.25, beta=0.5)',
        ),
        (
            lambda x: tf.raw_ops.ApproximateEqual(x=x, y=-x),
            "return tf.raw_ops.ApproximateEqual(x=x, y=-x)",
        ),
    ],
)
def test_the_text_reads_as_one_would_write_it_and_computes_the_same(build, line):
    lines = written(build, X)
    assert lines[-1] == line
    x = np.random.RandomState(0).rand(3, 4, 4, 2).astype(np.float32)
    assert np.array_equal(values_of(lines, {"x": x}), build(tf.constant(x)).numpy())


@pytest.mark.parametrize("is_sorted, options", [(True, "2"), (False, "2, sorted=False")])
def test_the_largest_entries_are_no_raw_op(is_sorted, options):
    build = lambda x: tf.gather(x[0], tf.math.top_k(x[0], 2, is_sorted).indices)  # noqa: E731
    lines = written(build, {"x": [5]})
    assert any("tf.math.top_k(" in line and line.endswith(f", {options})") for line in lines)
    assert not any("raw_ops" in line for line in lines)
    x = np.random.RandomState(0).rand(3, 5).astype(np.float32)
    assert np.array_equal(values_of(lines, {"x": x}), build(tf.constant(x)).numpy())


def test_as_many_of_the_largest_entries_as_there_are_is_no_raw_op():
    def build(x):
        above = tf.boolean_mask(x[0], x[0] > 0.25)
        return tf.math.top_k(above, tf.size(above)).values

    lines = written(build, {"x": [5]})
    assert any("tf.math.top_k(" in line and "tf.size(" in line for line in lines)
    assert not any("raw_ops" in line for line in lines)
    x = np.random.RandomState(0).rand(3, 5).astype(np.float32)
    assert np.array_equal(values_of(lines, {"x": x}), build(tf.constant(x)).numpy())


@pytest.mark.parametrize(
    "build, line",
    [
        (
            lambda x: tf.nn.max_pool3d(x, [1, 2, 2], [1, 2, 2], "SAME"),
            'return tf.nn.max_pool3d(batch["x"], [1, 2, 2], [1, 2, 2], "SAME")',
        ),
        (lambda x: tf.nn.avg_pool3d(x, 2, 1, "VALID"), 'return tf.nn.avg_pool3d(batch["x"], 2, 1, "VALID")'),
        (
            lambda x: tf.nn.conv3d(x, tf.ones([1, 3, 3, 2, 2]), [1, 1, 2, 2, 1], "SAME"),
            'return tf.nn.conv3d(x, tf.ones([1, 3, 3, 2, 2]), strides=[1, 1, 2, 2, 1], padding="SAME")',
        ),
    ],
)
def test_layers_of_volumes_are_no_raw_ops(build, line):
    lines = written(build, {"x": [2, 4, 4, 2]})
    assert lines[-1] == line
    x = np.random.RandomState(0).rand(3, 2, 4, 4, 2).astype(np.float32)
    assert np.array_equal(values_of(lines, {"x": x}), build(tf.constant(x)).numpy())


def test_what_a_program_prints_while_it_computes_is_left_out():
    lines = written(lambda x: tf.square(tf.raw_ops.Print(input=x, data=[tf.shape(x)], message="x")), X)
    assert lines == ['return tf.square(batch["x"])']


def test_a_layer_takes_its_variables_by_name():
    def build(x, kernel, bias):
        return tf.nn.bias_add(tf.nn.conv2d(x, kernel, 2, "SAME"), bias)

    conv, bias = written(build, X, {"kernel": [3, 3, 2, 5], "bias": [5]})
    assert conv == 'x = tf.nn.conv2d(batch["x"], scope.get("kernel", (3, 3, 2, 5)), strides=2, padding="SAME")'
    assert bias == 'return tf.nn.bias_add(x, scope.get("bias", (5,)))'


@pytest.mark.parametrize("sides", [2, 3])
def test_a_transposed_convolution_gives_as_many_examples_as_it_gets(sides):
    def grown(x, kernel):
        sizes = [tf.shape(x)[0], *[8] * sides, 3]
        return getattr(tf.nn, f"conv{sides}d_transpose")(x, kernel, sizes, 2, "SAME")

    lines = written(grown, {"x": [*[4] * sides, 2]}, {"kernel": [*[3] * sides, 3, 2]})
    text = "".join(lines).replace(",)", ")")
    assert f'tf.nn.conv{sides}d_transpose(batch["x"],' in text and f"[batch_size, {'8, ' * sides}3]" in text
    x = np.arange(BATCH * 4**sides * 2, dtype=np.float32).reshape(BATCH, *[4] * sides, 2)
    weights = np.arange(3**sides * 6, dtype=np.float32).reshape(*[3] * sides, 3, 2)
    assert np.array_equal(values_of(lines, {"x": x, "kernel": weights}), grown(x, weights))


def test_a_transposed_convolution_to_sizes_that_the_graph_computes_is_no_raw_op():
    def grown(x, kernel, side):
        size = tf.cast(tf.reduce_max(side), tf.int32)
        return tf.nn.conv2d_transpose(x, kernel, [tf.shape(x)[0], size, size, 3], 2, "SAME")

    lines = written(grown, {**X, "side": [1]}, {"kernel": [3, 3, 3, 2]})
    assert lines[-1].endswith('strides=2, padding="SAME")') and "raw_ops" not in "".join(lines)
    rng = np.random.RandomState(0)
    x, kernel = (rng.rand(*sizes).astype(np.float32) for sizes in ((BATCH, 4, 4, 2), (3, 3, 3, 2)))
    side = np.full((BATCH, 1), 7, np.float32)
    assert np.array_equal(values_of(lines, {"x": x, "kernel": kernel, "side": side}), grown(x, kernel, side))


def test_the_other_layout_is_kept_as_a_raw_op():
    lines = written(
        lambda x: tf.raw_ops.MaxPool(
            input=x, ksize=[1, 1, 2, 2], strides=[1, 1, 1, 1], padding="VALID", data_format="NCHW"
        ),
        X,
    )
    assert "tf.raw_ops.MaxPool(" in "".join(lines) and 'data_format="NCHW"' in "".join(lines)


def test_labels_and_logits_have_their_names():
    def build(x, w):
        rows = tf.reshape(x, [-1, 32])
        return tf.nn.softmax_cross_entropy_with_logits(labels=rows[:, :3], logits=tf.matmul(rows, w))

    lines = written(build, X, {"w": [32, 3]})
    assert lines[-1] == "return tf.nn.softmax_cross_entropy_with_logits(labels=x[:, :3], logits=logits)"


def test_every_writer_is_of_an_op_that_exists():
    assert all(hasattr(tf.raw_ops, name) for name in neural.WRITERS)


def moved(x):
    return tf.nn.space_to_depth(tf.nn.depth_to_space(x, 2), 2)


def test_channels_are_moved_to_space_and_back():
    lines = written(moved, {"x": [2, 2, 4]})
    assert lines == ['return tf.nn.space_to_depth(tf.nn.depth_to_space(batch["x"], 2), 2)']
    x = np.arange(64, dtype=np.float32).reshape(4, 2, 2, 4)
    assert np.array_equal(values_of(lines, {"x": x}), x)


def test_biases_of_channels_that_come_first():
    def biased(x, b):
        return tf.nn.bias_add(x, b, data_format="NCHW")

    lines = written(biased, {"x": [3, 2, 2]}, {"b": [3]})
    assert lines == ['return tf.nn.bias_add(batch["x"], scope.get("b", (3,)), data_format="NCHW")']
    x, b = np.ones((4, 3, 2, 2), np.float32), np.arange(3, dtype=np.float32)
    assert np.array_equal(values_of(lines, {"x": x, "b": b}), x + b.reshape(3, 1, 1))


@pytest.mark.parametrize("epsilon, function", [(0.001, "tf.compat.v1.nn.fused_batch_norm("), (1e-6, "tf.raw_ops.")])
def test_a_batch_normalization_by_given_statistics_is_written_with_all_of_its_results(epsilon, function):
    """The kernel has six results, the function three."""

    def normalized(x, mean, variance):
        given = dict(x=x, scale=tf.ones(2), offset=tf.zeros(2), mean=mean, variance=variance)
        return tf.raw_ops.FusedBatchNormV3(**given, epsilon=epsilon, is_training=False)[0]

    lines = written(normalized, X, {"mean": [2], "variance": [2]})
    assert function in "".join(lines)
    given = {
        "x": np.random.RandomState(0).rand(3, 4, 4, 2).astype(np.float32),
        "mean": np.float32([0.25, 0.5]),
        "variance": np.float32([0.5, 2.0]),
    }
    assert np.array_equal(values_of(lines, given), normalized(**given).numpy())
