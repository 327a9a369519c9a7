"""Constants of the old graph as expressions."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.source.basics.expressions import Literal
from legacy.source.basics.rendering import expression_text
from legacy.source.ops.constants import constant_expression


def test_a_number_is_a_literal_and_a_table_a_constant_with_its_dtype():
    assert constant_expression(np.array(3, np.int32)) == Literal(np.int32(3))
    table = constant_expression(np.array([[1, 2]], np.int64))
    assert expression_text(table) == "tf.constant([[1, 2]], tf.int64)"


def test_a_table_of_one_number_is_filled():
    assert expression_text(constant_expression(np.zeros((2, 3), np.float32))) == "tf.zeros([2, 3])"
    filled = expression_text(constant_expression(np.full((2, 2), 0.5, np.float32)))
    assert filled == "tf.fill([2, 2], 0.5)" and tf.fill([2, 2], 0.5).dtype == tf.float32
    assert expression_text(constant_expression(np.full(2, 7, np.int32))) == "tf.fill([2], 7)"
    assert expression_text(constant_expression(np.full(2, 7, np.int64))) == "tf.fill([2], tf.constant(7, tf.int64))"


def test_a_band_around_the_diagonal_is_written_as_a_band():
    band = np.array([[2, 2, 0], [2, 2, 2], [0, 2, 2], [0, 0, 2]], np.float32)
    text = expression_text(constant_expression(band))
    assert text == "tf.linalg.band_part(tf.fill([4, 3], 2.0), 1, 1)"
    assert np.array_equal(tf.linalg.band_part(tf.fill([4, 3], 2.0), 1, 1), band)
    band[3, 0] = 1
    assert expression_text(constant_expression(band)).startswith("tf.constant([[2.0, 2.0, 0.0]")


def test_a_vector_of_a_few_numbers_in_runs_is_written_as_repetitions():
    value = np.repeat(np.float32([0, 1, 0]), [32, 16, 16])
    assert expression_text(constant_expression(value)).startswith("tf.repeat(tf.constant([0.0, 1.0, 0.0], tf.float32)")
    assert "repeat" not in expression_text(constant_expression(np.arange(9, dtype=np.float32)))


@pytest.mark.parametrize("axis, shape", [(0, (20, 1)), (1, (2, 20))])
def test_rows_or_columns_in_runs_are_written_as_repetitions(axis, shape):
    value = np.ones(shape, np.float32)
    value[0, 0] = 0
    text = expression_text(constant_expression(value))
    assert text.endswith(f", [1, 19], axis={axis})")
    assert np.array_equal(eval(text, {"tf": tf}), value)
    value[1::2] = 2
    value[:, 1::2] = 3
    assert "repeat" not in expression_text(constant_expression(value))


@pytest.mark.parametrize(
    "value, text",
    [
        (np.arange(4), "tf.range(4, dtype=tf.int64)"),
        (np.arange(64, dtype=np.float32).reshape(64, 1), "tf.reshape(tf.range(64.0), [64, 1])"),
        (np.arange(3, 11, dtype=np.int32), "tf.range(3, 11)"),
        (np.arange(16, 0, -2, dtype=np.float64), "tf.range(16.0, 0.0, -2.0, dtype=tf.float64)"),
    ],
)
def test_numbers_at_equal_distances_are_a_range(value, text):
    assert expression_text(constant_expression(value)) == text
    made = eval(text, {"tf": tf}).numpy()
    assert made.dtype == value.dtype and made.shape == value.shape and made.tobytes() == value.tobytes()


@pytest.mark.parametrize(
    "value",
    [
        np.float32([1, 2, 3, 4]),  # four numbers, as weights of classes are
        np.arange(9, dtype=np.float32) / 10,  # adding 0.1 up rounds
        np.float32([0, 1, 2, 3, 4, 5, 6, 8]),
        np.float32([-0.0, 1, 2, 3, 4, 5, 6, 7]),
        np.arange(2**24, 2**24 + 16, 2).astype(np.float32),  # the sums are not exact there
        np.arange(2**31 - 8, 2**31).astype(np.int32),
        np.float32([np.nan] + [1] * 8),
    ],
)
def test_other_numbers_are_no_range(value):
    assert "range" not in expression_text(constant_expression(value))


@pytest.mark.parametrize(
    "value, text",
    [
        (
            np.tile(np.array([[0], [0], [1], [1]], np.float32), [4, 1]),
            "tf.tile(tf.constant([[0.0], [0.0], [1.0], [1.0]], tf.float32), [4, 1])",
        ),
        (np.repeat(np.arange(1, 9, dtype=np.float32)[None], 8, 0), "tf.repeat(tf.reshape(tf.range(1.0, 9.0), [1, 8])"),
        (np.array([1.0, 2.0, 2.0] * 3, np.float32), "tf.constant("),
        (np.array([0.0, -0.0, 0.0], np.float32), "tf.constant([0.0, -0.0, 0.0], tf.float32)"),
    ],
)
def test_what_comes_again_and_again_is_tiled(value, text):
    """Not of few repetitions; numbers that differ by their sign alone are no repetitions."""
    found = expression_text(constant_expression(value))
    assert found.startswith(text)
    assert eval(found, {"tf": tf}).numpy().tobytes() == value.tobytes()
