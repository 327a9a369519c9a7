"""States that start as zeros have a row for each example, also where the old graph knows their number."""

import pytest
import tensorflow as tf

from legacy.source.ops.batch_rows import _alike
from tests.legacy.source import old_towers
from tests.legacy.source.trained import assert_workload_verified, source_of
from tests.legacy.variants.programs import BATCH, TOWERS, apply, lifted, towers, weights

v1 = tf.compat.v1


def recurrent():
    """Three steps from a state of zeros, and a table that has as many rows as the batch, but is none of examples."""
    parts = tf.split(v1.placeholder(tf.float32, [TOWERS * BATCH, 3, 3], "x"), TOWERS)

    def loss(tower):
        w = weights()
        h = tf.zeros([BATCH, 2])
        for x in tf.unstack(parts[tower], axis=1):
            h = tf.tanh(tf.matmul(x, w) + h)
        mixed = tf.matmul(tf.concat([h, h], axis=1), tf.fill([BATCH, 2], 0.5))
        return tf.reduce_mean(mixed**2)

    return apply(tf.add_n(towers(lambda tower: tf.gradients(loss(tower), weights())[0])) / TOWERS)


def of_loop():
    """The same by a `while` loop."""
    v1.disable_control_flow_v2()  # until the end of the test
    parts = tf.split(v1.placeholder(tf.float32, [TOWERS * BATCH, 3], "x"), TOWERS)

    def loss(tower):
        w = weights()
        made = v1.while_loop(
            lambda n, h: n < 3, lambda n, h: (n + 1, tf.tanh(tf.matmul(parts[tower], w) + h)), (0, tf.zeros([BATCH, 2]))
        )
        return tf.reduce_mean(made[1] ** 2)

    return apply(tf.add_n(towers(lambda tower: tf.gradients(loss(tower), weights())[0])) / TOWERS)


def normalized():
    """As many channels as the batch has examples, which are normalized with a constant scale."""
    parts = tf.split(v1.placeholder(tf.float32, [TOWERS * BATCH, 3], "x"), TOWERS)

    def loss(tower):
        h = tf.matmul(parts[tower], weights()) + tf.zeros([BATCH, 2])
        channels = tf.reshape(tf.concat([h, h], 1), [BATCH, 1, 1, BATCH])
        return tf.reduce_mean(v1.nn.fused_batch_norm(channels, tf.ones([BATCH]), tf.fill([BATCH], 0.25))[0] ** 3)

    return apply(tf.add_n(towers(lambda tower: tf.gradients(loss(tower), weights())[0])) / TOWERS)


def losses_at(source, rows, tmp_path):
    """The loss of a replica with a number of examples, whose shape tells that its lines fit each other."""
    path = tmp_path / "port.py"
    path.write_text(source)
    port = old_towers.load(path, "port").PORT
    with tf.Graph().as_default():
        scope = type("Scope", (), {"get": staticmethod(lambda name, shape: tf.ones(shape))})
        batch = {name: tf.ones((rows, *spec.shape)) for name, spec in port.inputs().items()}
        return port.loss(scope, batch)


@pytest.mark.parametrize("program", [recurrent, of_loop])
def test_zeros_of_a_state_have_a_row_for_each_example(program, tmp_path):
    setup = lifted(program, tmp_path)
    source = source_of(setup, "workload")
    assert "tf.zeros([batch_size, 2])" in source.text and "tf.zeros([4" not in source.text
    assert ("tf.fill([4, 2], 0.5)" in source.text) == (program is recurrent)
    assert_workload_verified(setup, tmp_path, source)
    assert losses_at(source.text, 3, tmp_path).shape == ()
    with pytest.raises(ValueError, match="[Dd]imensions must be equal|shape"):
        losses_at(source.text.replace("tf.zeros([batch_size, 2])", "tf.zeros([4, 2])"), 3, tmp_path)


def test_scales_of_channels_are_as_many_at_any_number_of_examples(tmp_path):
    setup = lifted(normalized, tmp_path)
    source = source_of(setup, "workload")
    assert "tf.ones([4])" in source.text and "tf.ones([batch_size])" not in source.text
    assert_workload_verified(setup, tmp_path, source)
    assert losses_at(source.text, 3, tmp_path).shape == ()


def test_weights_and_transposed_values_have_rows_of_their_own():
    with tf.Graph().as_default():
        x, w = v1.placeholder(tf.float32, [4, 4], "x"), v1.placeholder(tf.float32, [4, 4], "w")
        assert list(_alike(tf.matmul(x, w).op, 4)) == ["x:0", "MatMul:0"]
        assert list(_alike(tf.transpose(x).op, 4)) == []
        assert list(_alike(tf.add(x, w).op, 4)) == ["x:0", "w:0", "Add:0"]


def test_channels_and_filters_have_rows_of_their_own():
    with tf.Graph().as_default():
        x, w = v1.placeholder(tf.float32, [4, 2, 2, 4], "x"), v1.placeholder(tf.float32, [4, 4, 3, 4], "w")
        scale, offset = v1.placeholder(tf.float32, [4], "scale"), v1.placeholder(tf.float32, [4], "offset")
        normalized = v1.nn.fused_batch_norm(x, scale, offset)[0]
        assert list(_alike(normalized.op, 4)) == ["x:0", normalized.name]
        larger = tf.nn.conv2d_transpose(x, w, [4, 4, 4, 3], 2)
        assert list(_alike(larger.op, 4)) == ["x:0", larger.name]  # and not the list of four sizes


@pytest.mark.parametrize(
    "make, has_rows",
    [
        (lambda x: tf.reduce_mean(x, 0), False),
        (lambda x: tf.reduce_mean(x, 1), True),
        (lambda x: tf.argmax(x, 0), False),
        (lambda x: tf.argmax(x, 1), True),
        (lambda x: x[0], False),
        (lambda x: x[:, 0], True),
        (lambda x: tf.unstack(x)[0], False),
        (lambda x: tf.unstack(x, axis=1)[0], True),
        (lambda x: tf.stack([x[:, 0]] * 4, axis=1), True),
        (lambda x: tf.stack([x[:, 0]] * 4), False),
    ],
)
def test_results_without_the_first_dimension_have_other_rows(make, has_rows):
    with tf.Graph().as_default():
        made = make(v1.placeholder(tf.float32, [4, 4], "x"))
        assert bool(list(_alike(made.op, 4))) == has_rows
