"""Matrices of positions, as attention has them: differences of two positions, and a number for all later positions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from legacy.source.basics.expressions import OMIT, Infix, Literal, Name, call

if TYPE_CHECKING:
    from legacy.source.basics.expressions import Expression

#: Fewest rows and columns of a matrix that is written by its positions; of fewer, the numbers tell more.
LEAST_POSITIONS = 4


def positions_expression(value: np.ndarray) -> Expression | None:
    """Returns the expression of a matrix of positions, with axes of one before it; None for another table.

    >>> from legacy.source.basics.rendering import expression_text
    >>> expression_text(positions_expression(np.arange(5) - np.arange(4)[:, None]))
    'tf.range(5, dtype=tf.int64) - tf.expand_dims(tf.range(4, dtype=tf.int64), 1)'
    """
    if value.ndim < 2 or min(value.shape[-2:]) < LEAST_POSITIONS or set(value.shape[:-2]) - {1}:
        return None
    matrix = value.reshape(value.shape[-2:])
    found = _differences(matrix) if value.dtype.kind == "i" else _later_positions(matrix)
    return found if found is None or value.ndim == 2 else call("tf.reshape", found, list(value.shape))


def _differences(matrix: np.ndarray) -> Expression | None:
    """Returns whole numbers that rise by one, or fall, from position to position, within bounds if they are clipped."""
    rows, columns = matrix.shape
    dtype = OMIT if matrix.dtype.name == "int32" else Name("tf." + matrix.dtype.name)
    of_rows = call("tf.expand_dims", call("tf.range", rows, dtype=dtype), 1)
    of_columns = call("tf.range", columns, dtype=dtype)
    later, start = np.arange(columns) - np.arange(rows)[:, None], int(matrix[0, 0])
    for sign, difference in ((1, Infix("-", of_columns, of_rows)), (-1, Infix("-", of_rows, of_columns))):
        plain = start + sign * later
        bounds = int(matrix.min()), int(matrix.max())
        if not np.array_equal(np.clip(plain, *bounds), matrix) or bounds[0] == bounds[1]:
            continue
        shifted = Infix("+", difference, Literal(matrix.dtype.type(start))) if start else difference
        clipped = call("tf.clip_by_value", shifted, *(matrix.dtype.type(bound) for bound in bounds))
        return shifted if np.array_equal(plain, matrix) else clipped
    return None


def _later_positions(matrix: np.ndarray) -> Expression | None:
    """Returns a matrix of one number, such as -1e9, for all positions behind a row's own, and of 0 for the others."""
    number = matrix[0, -1]
    if matrix.dtype.name != "float32" or not number or not np.isfinite(number):
        return None
    seen = np.tril(np.ones_like(matrix))
    shape = list(matrix.shape)
    if (number * (1 - seen)).tobytes() == matrix.tobytes():
        own = call("tf.linalg.band_part", call("tf.ones", shape), -1, 0)
        later = Infix("-", Literal(np.float32(1)), own)
        return later if number == 1 else Infix("*", Literal(number), later)
    return None
