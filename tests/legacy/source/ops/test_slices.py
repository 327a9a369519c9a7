"""Slices and lookups as text, at another number of examples than the analysis used."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.source.ops import slices
from tests.legacy.source.tiny import values_of, written

X = {"x": [2, 3]}


@pytest.mark.parametrize(
    "build, line",
    [
        (lambda x: x[:, 0], 'return batch["x"][:, 0]'),
        (lambda x: x[:, -1, 1:], 'return batch["x"][:, -1, 1:]'),
        (lambda x: x[..., tf.newaxis], 'return batch["x"][..., tf.newaxis]'),
        (lambda x: x[..., :1, :], 'return batch["x"][..., :1, :]'),
        (lambda x: x[:, 1:, :], 'return batch["x"][:, 1:]'),
        (lambda x: x[...] + 1.0, 'return batch["x"] + 1.0'),
        (lambda x: x[:, ::-1], 'return batch["x"][:, ::-1]'),
        (lambda x: tf.slice(x, [0, 1, 0], [-1, 1, 2]), 'return batch["x"][:, 1:, :2]'),
        (lambda x: tf.slice(x, [0, 1, 0], [tf.shape(x)[0], 1, 2]), 'return batch["x"][:, 1:, :2]'),
        (
            lambda x: tf.slice(tf.concat([x, x[:1]], 0), [0, 0, 0], [tf.shape(x)[0], 2, 3]),
            "return tf.concat([x, x[:1]], axis=0)[:batch_size]",
        ),
    ],
)
def test_the_text_reads_as_one_would_write_it_and_computes_the_same(build, line):
    lines = written(build, X)
    assert lines[-1] == line
    x = np.random.RandomState(0).rand(5, 2, 3).astype(np.float32)
    assert np.array_equal(values_of(lines, {"x": x}), build(tf.constant(x)).numpy())


@pytest.mark.parametrize(
    "options, end",
    [
        ({"batch_dims": 1}, "batch_dims=1)"),
        ({"axis": 2, "batch_dims": 1}, "axis=2, batch_dims=1)"),
        ({"axis": 1}, "axis=1)"),
        ({}, "[0, 1]], tf.int32))"),
    ],
)
def test_each_example_is_looked_up_by_indices_of_its_own(options, end):
    def build(x):
        indices = tf.constant([[1, 0], [0, 0], [1, 1], [0, 1]])
        return tf.gather(tf.identity(x * 2.0), indices, **options) + 0.5

    lines = written(build, X, batch=4)
    assert any(end in line for line in lines), lines
    x = np.random.RandomState(0).rand(4, 2, 3).astype(np.float32)
    assert np.array_equal(values_of(lines, {"x": x}), build(tf.constant(x)).numpy())


def test_bounds_that_the_graph_computes_stand_in_the_slice():
    def build(x, table):
        first = tf.cast(table[0, 0], tf.int32)
        return x[:, first : first + 2, tf.cast(table[1, 0], tf.int32), :3] + 1.0

    lines = written(build, {"x": [4, 3, 5]}, {"table": [2, 1]})
    assert lines[-1] == 'return batch["x"][:, x:x + 2, tf.cast(table[1, 0], tf.int32), :3] + 1.0'
    x = np.random.RandomState(0).rand(6, 4, 3, 5).astype(np.float32)
    table = np.float32([[1.0], [2.0]])
    assert np.array_equal(values_of(lines, {"x": x, "table": table}), x[:, 1:3, 2, :3] + 1.0)


@pytest.mark.parametrize(
    "build, line",
    [
        (lambda x: x[: tf.shape(x)[0] // 2], "return x[:batch_size // 2]"),
        (lambda x: x[tf.shape(x)[0] // 2 :], "return x[batch_size // 2:]"),
        (lambda x: x[: 3 * tf.shape(x)[0] // 2 - tf.shape(x)[0]], "return x[:batch_size // 2]"),
        (lambda x: x[: tf.shape(x)[0]] + 1.0, 'return batch["x"] + 1.0'),
        (lambda x: x[:2], 'return batch["x"][:2]'),
    ],
)
def test_parts_of_a_batch_are_whole_numbers(build, line):
    lines = written(build, X)
    assert lines[-1].replace('batch["x"]', "x") == line.replace('batch["x"]', "x")
    x = np.random.RandomState(0).rand(6, 2, 3).astype(np.float32)
    assert np.array_equal(values_of(lines, {"x": x}), build(tf.constant(x)).numpy())


def test_a_number_of_examples_that_is_no_part_of_a_batch_is_computed():
    lines = written(lambda x: x[: tf.shape(x)[0] - 1], X)
    assert "// " not in "".join(lines) and "raw_ops" not in "".join(lines)
    x = np.random.RandomState(0).rand(6, 2, 3).astype(np.float32)
    assert np.array_equal(values_of(lines, {"x": x}), x[:-1])


def test_rows_of_a_variable_are_looked_up():
    def build(x, table):
        return tf.nn.embedding_lookup(table, tf.cast(x, tf.int32))

    (line,) = written(build, {"x": [2]}, {"table": [7, 3]})
    assert line == 'return tf.nn.embedding_lookup(scope.get("table", (7, 3)), tf.cast(batch["x"], tf.int32))'


def test_every_writer_is_of_an_op_that_exists():
    assert all(hasattr(tf.raw_ops, name) for name in slices.WRITERS)


def test_a_slice_of_as_many_rows_as_there_are_examples_follows_their_number():
    """As a sampled softmax takes the true classes' weights out of those that it looked up for them and the sample."""

    def build(x, table):
        labels = tf.reshape(x, [-1])
        rows = tf.concat([labels, table], 0)
        sizes = tf.stack([tf.shape(labels)[0]])
        return tf.slice(rows, [0], sizes) + tf.slice(rows, [1], sizes) * 2.0 - tf.slice(rows, [2], sizes)

    lines = written(build, {"x": [3]}, {"table": [2]})
    assert any("[:3 * batch_size]" in line for line in lines) and any("[2:]" in line for line in lines)
    x, table = np.random.RandomState(0).rand(5, 3).astype(np.float32), np.float32([0.5, 0.25])
    made = values_of(lines, {"x": x, "table": table})
    assert np.array_equal(made, build(tf.constant(x), tf.constant(table)).numpy())
