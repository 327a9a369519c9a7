"""Tables of few blocks: the text that is written has the bits of the table; other tables are not written."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.source.basics.rendering import expression_text
from legacy.source.ops.tables import MOST_CALLS, block_expression


def mask_of_a_convolution(inputs, outputs, diagonal):
    """[3, 3, inputs, outputs] of 0 and 1: what is above, or to the left, or has a smaller channel."""
    mask = np.ones((3, 3, inputs, outputs), np.float32)
    mask[0], mask[1, 0] = 0, 0
    most = max(inputs, outputs)
    square = np.triu(np.ones((most, most), np.float32), 0 if diagonal else 1)
    mask[1, 1] = square[:: most // inputs, :: most // outputs]
    return mask


def repeated(number):
    return np.repeat(np.tril(np.full((12, 12), number, np.float32)), 3, axis=1)


TABLES = [
    mask_of_a_convolution(8, 8, True),
    mask_of_a_convolution(8, 8, False),
    mask_of_a_convolution(16, 4, True),
    mask_of_a_convolution(4, 16, False),
    repeated(0.1),
    np.triu(np.full((20, 20), 7, np.int32), 1),
    np.eye(25, dtype=np.float32).reshape(5, 5, 1, 25),  # takes the windows of an image apart
    (1 - np.eye(36, dtype=np.int64)).reshape(36, 4, 9),
    np.concatenate([np.zeros((40, 3)), np.ones((40, 2))], axis=1),
]


@pytest.mark.parametrize("table", TABLES, ids=range(len(TABLES)))
def test_a_table_of_blocks_has_the_same_bits(table):
    text = expression_text(block_expression(table))
    made = np.asarray(eval(text, {"tf": tf}))
    assert made.dtype == table.dtype and made.shape == table.shape and made.tobytes() == table.tobytes()
    assert text.count("tf.") < 3 * MOST_CALLS


def test_other_tables_are_not_written():
    rng = np.random.RandomState(0)
    assert block_expression(rng.rand(16, 16).astype(np.float32)) is None
    assert block_expression((rng.rand(16, 16) > 0.5).astype(np.float32)) is None
    assert block_expression(np.triu(np.full((16, 16), 0.1, np.float32)) + np.float32(0.7)) is None
    assert block_expression(np.full((16, 16), np.nan, np.float32)) is None
    assert block_expression(np.zeros((0, 4), np.float32)) is None


def test_a_negative_zero_is_no_zero():
    table = mask_of_a_convolution(8, 8, True)
    table[0] *= -1.0
    assert block_expression(table) is None
