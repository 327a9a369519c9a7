"""Matrices of positions as expressions."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.source.basics.rendering import expression_text
from legacy.source.ops.constants import constant_expression

POSITIONS = np.arange(6)
LATER = POSITIONS - POSITIONS[:5, None]
UNSEEN = np.float32(-1e9) * (1 - np.tril(np.ones((5, 5), np.float32)))


@pytest.mark.parametrize(
    "value, text",
    [
        (LATER.astype(np.int32), "tf.range(6) - tf.expand_dims(tf.range(5), 1)"),
        (3 - LATER.astype(np.int32), "tf.expand_dims(tf.range(5), 1) - tf.range(6) + 3"),
        (
            np.clip(LATER.astype(np.int32), -2, 2) + 2,
            "tf.clip_by_value(tf.range(6) - tf.expand_dims(tf.range(5), 1) + 2, 0, 4)",
        ),
        (
            LATER.reshape(1, 5, 6),
            "tf.reshape(tf.range(6, dtype=tf.int64) - tf.expand_dims(tf.range(5, dtype=tf.int64), 1), [1, 5, 6])",
        ),
        (np.triu(np.ones((5, 5), np.float32), 1), "1.0 - tf.linalg.band_part(tf.ones([5, 5]), -1, 0)"),
        (UNSEEN, "-1e9 * (1.0 - tf.linalg.band_part(tf.ones([5, 5]), -1, 0))"),
        (
            UNSEEN.reshape(1, 1, 5, 5),
            "tf.reshape(-1e9 * (1.0 - tf.linalg.band_part(tf.ones([5, 5]), -1, 0)), [1, 1, 5, 5])",
        ),
    ],
)
def test_differences_of_positions_and_masks_of_later_ones_are_written_by_their_rule(value, text):
    assert expression_text(constant_expression(value)) == text
    made = eval(text, {"tf": tf}).numpy()
    assert made.dtype == value.dtype and made.shape == value.shape and made.tobytes() == value.tobytes()


def changed(value, number):
    value = value.copy()
    value[3, 1] = number
    return value


@pytest.mark.parametrize(
    "value",
    [
        changed(LATER.astype(np.int32), 7),
        LATER[:3].astype(np.int32),
        2 * LATER.astype(np.int32),
        changed(UNSEEN, 1.0),
        changed(UNSEEN, 0.0),  # the others are -0.0
        UNSEEN.reshape(5, 1, 5),
    ],
)
def test_other_tables_are_listed(value):
    assert expression_text(constant_expression(value)).startswith("tf.constant(")
