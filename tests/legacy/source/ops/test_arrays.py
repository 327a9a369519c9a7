"""Shapes, joins and splits as text, at another number of examples than the analysis used."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.source.ops import arrays
from tests.legacy.source.tiny import values_of, written

X = {"x": [2, 3]}


@pytest.mark.parametrize(
    "build, line",
    [
        (lambda x: tf.reshape(x, [tf.shape(x)[0], -1]), 'return tf.reshape(batch["x"], [-1, 6])'),
        (lambda x: tf.reshape(x, [-1, 3]), 'return tf.reshape(batch["x"], [-1, 3])'),
        (
            lambda x: tf.reshape(tf.transpose(x, [1, 0, 2]), [-1, tf.shape(x)[0], 6]),
            'return tf.reshape(tf.transpose(batch["x"], [1, 0, 2]), [-1, batch_size, 6])',
        ),
        (lambda x: tf.expand_dims(x, 1), 'return tf.expand_dims(batch["x"], 1)'),
        (lambda x: tf.expand_dims(x, [-1]), 'return tf.expand_dims(batch["x"], -1)'),
        (lambda x: tf.transpose(x, [1, 0, 2]), 'return tf.transpose(batch["x"], [1, 0, 2])'),
        (lambda x: tf.concat([x, x], 2), "return tf.concat([x, x], axis=2)"),
        (lambda x: tf.stack([x, x], 1), "return tf.stack([x, x], axis=1)"),
        (lambda x: tf.pad(x, [[0, 0], [1, 1], [0, 0]]), 'return tf.pad(batch["x"], [[0, 0], [1, 1], [0, 0]])'),
        (lambda x: tf.tile(x, [1, 2, 1]), 'return tf.tile(batch["x"], [1, 2, 1])'),
    ],
)
def test_the_text_reads_as_one_would_write_it_and_computes_the_same(build, line):
    lines = written(build, X)
    assert lines[-1] == line
    x = np.random.RandomState(0).rand(5, 2, 3).astype(np.float32)
    assert np.array_equal(values_of(lines, {"x": x}), build(tf.constant(x)).numpy())


@pytest.mark.parametrize(
    "dtype, text", [(tf.int64, "tf.range(batch_size, dtype=tf.int64)"), (tf.int32, "tf.range(batch_size)")]
)
def test_consecutive_numbers_have_their_dtype(dtype, text):
    """As the rows of labels in a sparse tensor have it, which are stacked with the labels."""

    def build(x):
        rows = tf.range(tf.cast(tf.shape(x)[0], dtype))
        return tf.stack([rows, tf.cast(x[:, 0, 0] * 3.0, dtype)], 1)

    lines = written(build, X)
    assert text in "\n".join(lines)
    x = np.random.RandomState(0).rand(5, 2, 3).astype(np.float32)
    assert np.array_equal(values_of(lines, {"x": x}), build(tf.constant(x)).numpy())


@pytest.mark.parametrize(
    "dtype, text",
    [
        (tf.int64, "tf.fill([batch_size, 2, 3], tf.constant(1, tf.int64))"),
        (tf.int32, "tf.fill([batch_size, 2, 3], 1)"),
        (tf.bool, "tf.fill([batch_size, 2, 3], True)"),
    ],
)
def test_a_number_that_fills_a_tensor_has_its_dtype(dtype, text):
    """As the ones of an unpooling's indices have it, which are int64."""

    def build(x):
        return tf.raw_ops.Fill(dims=tf.stack([tf.shape(x)[0], 2, 3]), value=tf.cast(tf.constant(1), dtype))

    lines = written(build, X)
    assert text in "\n".join(lines)
    x = np.zeros([5, 2, 3], np.float32)
    found = values_of(lines, {"x": x})
    assert found.dtype == dtype.as_numpy_dtype and np.array_equal(found, build(tf.constant(x)).numpy())


def all_cells(x):
    return tf.constant(6, tf.int64)


def cells_of_data(x):
    return tf.cast(tf.reduce_sum(x) * 0.0, tf.int64) + 6


@pytest.mark.parametrize(
    "cells, text",
    [(all_cells, "tf.cast(tf.stack([batch_size, 6]), tf.int64)"), (cells_of_data, "tf.stack([batch_size, tf.cast(")],
)
def test_a_stack_of_whole_numbers_alone_says_its_dtype(cells, text):
    """As the shape of a sparse tensor of classes, [examples, classes]; beside a tensor they have the tensor's dtype."""

    def build(x):
        shape = tf.stack([tf.shape(x, tf.int64)[0], cells(x)])
        given = tf.raw_ops.SparseReshape(
            input_indices=tf.where(x > 0.5), input_shape=tf.shape(x, tf.int64), new_shape=shape
        )
        return given[0]

    lines = written(build, X)
    assert text in "\n".join(lines)
    x = np.random.RandomState(0).rand(5, 2, 3).astype(np.float32)
    assert np.array_equal(values_of(lines, {"x": x}), build(tf.constant(x)).numpy())


def test_a_stack_of_int32_needs_no_dtype():
    lines = written(lambda x: tf.cast(tf.stack([tf.shape(x)[0], 6]), tf.float32) * tf.reduce_sum(x), X)
    assert "tf.stack([batch_size, 6]), tf.int64" not in "\n".join(lines) and "tf.stack([" in "\n".join(lines)


def test_one_hot_vectors_may_be_as_long_as_the_data_say():
    def build(x):
        return tf.one_hot(tf.cast(x[:, 0, 0] * 3.0, tf.int32), tf.cast(tf.reduce_max(x) * 4.0, tf.int32), axis=0)

    lines = written(build, X)
    assert "tf.one_hot(" in "\n".join(lines) and "raw_ops" not in "\n".join(lines)
    x = np.random.RandomState(0).rand(5, 2, 3).astype(np.float32)
    assert np.array_equal(values_of(lines, {"x": x}), build(tf.constant(x)).numpy())


@pytest.mark.parametrize("times", [6, 8, 14])
def test_times_that_the_batch_divides_are_not_taken_for_examples(times):
    rows = {"x": [times, 2, 3]}
    lines = written(lambda x: tf.reshape(tf.transpose(x, [1, 0, 2, 3]), [-1, tf.shape(x)[0], 6]), rows)
    assert lines[-1] == 'return tf.reshape(tf.transpose(batch["x"], [1, 0, 2, 3]), [-1, batch_size, 6])'
    assert values_of(lines, {"x": np.ones((5, times, 2, 3), np.float32)}).shape == (times, 5, 6)


def test_a_state_of_zeros_has_as_many_rows_as_the_batch():
    lines = written(lambda x: tf.concat([x, tf.zeros([tf.shape(x)[0], 40, 3])], 1), X)
    assert lines[0] == 'batch_size = int(batch["x"].shape[0])'
    assert values_of(lines, {"x": np.ones((5, 2, 3), np.float32)}).shape == (5, 42, 3)


def test_a_shape_that_the_graph_computes_is_filled():
    def build(x, table):
        return tf.fill(tf.cast(table, tf.int32), 2.5) + tf.reduce_sum(x)

    lines = written(build, X, {"table": [2]})
    assert 'tf.fill(tf.cast(scope.get("table", (2,)), tf.int32), 2.5)' in "".join(lines)
    given = {"x": np.ones((5, 2, 3), np.float32), "table": np.float32([3, 4])}
    assert np.array_equal(values_of(lines, given), np.full((3, 4), 32.5, np.float32))


@pytest.mark.parametrize("parts", [1, [2]])
def test_a_split_into_one_part_is_the_whole(parts):
    """As code for several towers deals a batch to one."""
    (line,) = written(lambda x: tf.square(tf.split(x, parts, axis=1)[0]), X)
    assert line.endswith('tf.square(batch["x"])')


def test_a_split_has_a_name_for_each_part():
    lines = written(lambda x: tf.subtract(*tf.split(x, 2, axis=1)), X)
    assert lines[0].endswith('= tf.split(batch["x"], 2, axis=1)') and lines[0].count(",") == 3


def test_every_writer_is_of_an_op_that_exists():
    assert all(hasattr(tf.raw_ops, name) for name in arrays.WRITERS)
