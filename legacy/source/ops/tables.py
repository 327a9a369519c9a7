"""Large tables with few blocks, such as masks of autoregressive layers: joins, repetitions and bands of one number."""

from __future__ import annotations

from typing import TYPE_CHECKING, List, Sequence

import numpy as np

from legacy.source.basics.expressions import Infix, Listing, Name, call, calls
from legacy.source.ops.constants import band_expression, filled_expression, numbers

if TYPE_CHECKING:
    from legacy.source.basics.expressions import Expression

#: Most calls that a table is written with.
MOST_CALLS = 24
#: Most parts that a table is joined from along one axis.
MOST_PARTS = 8
#: Most numbers of a part that are listed.
MOST_LISTED = 8


def block_expression(value: np.ndarray) -> Expression | None:
    """Returns the expression of a table that consists of few blocks; None for another table.

    Numbers are copied, and nothing is subtracted from one but itself or 0, so that the table has the same bits.

    Args:
      value: the table, of numbers.

    >>> from legacy.source.basics.rendering import expression_text
    >>> expression_text(block_expression(np.repeat(np.triu(np.ones((16, 16), np.float32)), 2, axis=0)))
    'tf.repeat(tf.linalg.band_part(tf.ones([16, 16]), 0, 15), 2, axis=0)'
    """
    if not value.size or value.dtype.kind not in "fi" or not np.isfinite(value).all():
        return None
    if (np.signbit(value) & (value == 0)).any():  # -0.0 equals 0.0, and has other bits
        return None
    found = _expression(value)
    return None if found is None or len(list(calls(found))) > MOST_CALLS else found


def _expression(value: np.ndarray) -> Expression | None:
    if (value == value.flat[0]).all():
        return filled_expression(value.shape, value.flat[0])
    if value.size <= MOST_LISTED:
        return call("tf.constant", numbers(value), Name("tf." + value.dtype.name))
    return _band(value) or _repetition(value) or _join(value)


def _band(value: np.ndarray) -> Expression | None:
    """Returns a table of 0 and one number in a band, or outside of it, of the matrix that some first axes are rows of.

    Such a table of more axes is the kernel of a convolution that takes its windows apart, an identity matrix.
    """
    sizes = [size for size in value.shape if size > 1]
    for axes in range(1, len(sizes)):
        matrix = value.reshape(int(np.prod(sizes[:axes])), -1)
        band = band_expression(matrix) or _all_but_band(matrix)
        if band is not None:
            return band if matrix.shape == value.shape else call("tf.reshape", band, list(value.shape))
    return None


def _all_but_band(matrix: np.ndarray) -> Expression | None:
    """Returns a matrix of one number outside of a band of 0."""
    number = matrix.flat[np.flatnonzero(matrix)[0]]
    inside = band_expression(number - matrix) if np.isin(matrix, (0, number)).all() else None
    return None if inside is None else Infix("-", filled_expression(matrix.shape, number), inside)


def _repetition(value: np.ndarray) -> Expression | None:
    """Returns a table whose slices along an axis are repeated equally often."""
    for axis in range(value.ndim):
        times = int(np.gcd.reduce([part.shape[axis] for part in _parts(value, axis)]))
        if times > 1:
            one = _expression(value.take(range(0, value.shape[axis], times), axis))
            return None if one is None else call("tf.repeat", one, times, axis=axis)
    return None


def _join(value: np.ndarray) -> Expression | None:
    """Returns a table that is joined along the axis with the fewest parts."""
    axis = min((n for n in range(value.ndim) if value.shape[n] > 1), key=lambda n: len(_parts(value, n)))
    parts = _parts(value, axis)
    if not 1 < len(parts) <= MOST_PARTS:
        return None
    written: List[Expression] = []
    for part in parts:
        one = _expression(part)
        if one is None:
            return None
        written.append(one)
    return call("tf.concat", Listing(tuple(written)), axis=axis)


def _parts(value: np.ndarray, axis: int) -> Sequence[np.ndarray]:
    """Returns the runs of equal slices along an axis."""
    moved = np.moveaxis(value, axis, 0).reshape(value.shape[axis], -1)
    changes = np.flatnonzero((moved[1:] != moved[:-1]).any(axis=1)) + 1
    return np.split(value, changes, axis)
