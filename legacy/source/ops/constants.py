"""Constants of the old graph as expressions: a number, or the shortest text that makes the same table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from legacy.source.basics.expressions import OMIT, Literal, Name, call
from legacy.source.ops.positions import positions_expression
from legacy.source.ops.sinusoids import sinusoids_expression

if TYPE_CHECKING:
    from collections.abc import Sequence

    from legacy.source.basics.expressions import Expression

#: The dtypes that TensorFlow makes of Python's numbers.
USUAL = ("float32", "int32")
#: Least mean length of a run of equal slices for which a table is written as repetitions.
LEAST_PER_RUN = 8
#: Fewest repetitions, and fewest numbers, of a table that is written as some slices again and again.
LEAST_TILES, LEAST_TILED = 4, 12
#: Fewest of 0, 1, 2 and so on, and of other numbers at equal distances, that are written as a range.
LEAST_COUNTED, LEAST_IN_RANGE = 4, 8
#: {dtype: the largest integer up to which all are among its numbers} of the dtypes that ranges are written in.
EXACT_INTEGERS = {"int32": 2**31 - 1, "int64": 2**53, "float32": 2**24, "float64": 2**53}


def constant_expression(value: np.ndarray) -> Expression:
    """Returns the expression of a constant: a number, or a `tf.constant`.

    >>> constant_expression(np.array(0.5, np.float32))
    Literal(value=np.float32(0.5))
    """
    if value.shape == ():
        return Literal(value[()])
    if value.size > 1 and value.tobytes() == value.flat[:1].tobytes() * value.size:
        return filled_expression(value.shape, value.flat[0])
    known = range_expression(value) or band_expression(value) or runs_expression(value) or positions_expression(value)
    return known or sinusoids_expression(value) or tiles_expression(value) or _table(value)


def _table(value: np.ndarray) -> Expression:
    return call("tf.constant", numbers(value), Name("tf." + value.dtype.name))


def is_counted(value: np.ndarray) -> bool:
    """Returns whether an array holds 0, 1, 2 and so on, up to 3 at least."""
    return (
        value.ndim == 1
        and value.size >= LEAST_COUNTED
        and value.dtype.kind == "i"
        and value.tolist() == list(range(value.size))
    )


def range_expression(value: np.ndarray) -> Expression | None:
    """Returns the expression of whole numbers at equal distances, as of positions; None for another table.

    `tf.range` adds the distance up, which is exact for whole numbers.

    >>> from legacy.source.basics.rendering import expression_text
    >>> expression_text(range_expression(np.arange(64, dtype=np.float32).reshape(64, 1)))
    'tf.reshape(tf.range(64.0), [64, 1])'
    """
    most = EXACT_INTEGERS.get(value.dtype.name)
    if most is None or value.size < LEAST_COUNTED or not np.isfinite(value).all():
        return None
    start, second = (int(number) for number in value.flat[:2])
    step, limit = second - start, start + (second - start) * value.size
    if max(abs(start), abs(limit)) > most or (start, step) != (0, 1) and value.size < LEAST_IN_RANGE or not step:
        return None
    if np.arange(start, limit, step).astype(value.dtype).tobytes() != value.tobytes():
        return None
    bounds = [limit] if (start, step) == (0, 1) else [start, limit] if step == 1 else [start, limit, step]
    dtype = OMIT if value.dtype.name in USUAL else Name("tf." + value.dtype.name)
    counted = call("tf.range", *(value.dtype.type(bound) for bound in bounds), dtype=dtype)
    return counted if value.ndim == 1 else call("tf.reshape", counted, list(value.shape))


def filled_expression(shape: Sequence[int | Expression], number: Any) -> Expression:
    """Returns the expression of an array of one number, which is a numpy scalar.

    >>> filled_expression((8, 8), np.float32(0.5)).arguments[1].value
    Literal(value=np.float32(0.5))
    """
    dtype = Name("tf." + number.dtype.name)
    filled = {0: "tf.zeros", 1: "tf.ones"}.get(number)
    if filled:
        return call(filled, list(shape), *([] if number.dtype.name == "float32" else [dtype]))
    return call("tf.fill", list(shape), number if number.dtype.name in USUAL else call("tf.constant", number, dtype))


def runs_expression(value: np.ndarray) -> Expression | None:
    """Returns the expression of a table of a few slices, each repeated many times; None for another table.

    >>> from legacy.source.basics.rendering import expression_text
    >>> expression_text(runs_expression(np.array([[0]] + [[1]] * 19, np.int32)))
    'tf.repeat(tf.constant([[0], [1]], tf.int32), [1, 19], axis=0)'
    """
    for axis, size in enumerate(value.shape):
        if size < LEAST_PER_RUN or not value.size:
            continue
        slices = np.moveaxis(value, axis, 0).reshape(size, -1)
        starts = [0, *(np.flatnonzero((slices[1:] != slices[:-1]).any(axis=1)) + 1).tolist()]
        if len(starts) * LEAST_PER_RUN <= size:
            taken = value.take(starts, axis)
            kept = range_expression(taken) or _table(taken)
            repeats = np.diff([*starts, size]).tolist()
            return call("tf.repeat", kept, repeats, axis=axis if value.ndim > 1 else OMIT)
    return None


def tiles_expression(value: np.ndarray) -> Expression | None:
    """Returns the expression of a table of a few slices that come again and again; None for another table.

    >>> from legacy.source.basics.rendering import expression_text
    >>> expression_text(tiles_expression(np.array([3.0, 1.0] * 6, np.float32)))
    'tf.tile(tf.constant([3.0, 1.0], tf.float32), [6])'
    """
    for axis, size in enumerate(value.shape):
        periods = [number for number in range(1, size // LEAST_TILES + 1) if size % number == 0]
        for period in periods if value.size >= LEAST_TILED else ():
            taken = value.take(range(period), axis)
            multiples = [size // period if place == axis else 1 for place in range(value.ndim)]
            if np.tile(taken, multiples).tobytes() == value.tobytes():
                return call("tf.tile", range_expression(taken) or _table(taken), multiples)
    return None


def band_expression(value: np.ndarray) -> Expression | None:
    """Returns the expression of a matrix with one number in a band around its diagonal; None for another table.

    >>> from legacy.source.basics.rendering import expression_text
    >>> expression_text(band_expression(np.eye(3, dtype=np.float32)))
    'tf.eye(3)'
    """
    if value.ndim != 2 or not value.any():
        return None
    rows, columns = np.nonzero(value)
    lower, upper = int((rows - columns).max()), int((columns - rows).max())
    inside = np.subtract.outer(np.arange(value.shape[0]), np.arange(value.shape[1]))
    band = (inside <= lower) & (-inside <= upper)
    number = value[rows[0], columns[0]]
    if lower < 0 or upper < 0 or not np.array_equal(value, np.where(band, number, value.dtype.type(0))):
        return None
    if lower == upper == 0 and number == 1:
        rows, columns = value.shape
        dtype = OMIT if value.dtype.name == "float32" else Name("tf." + value.dtype.name)
        return call("tf.eye", rows, num_columns=OMIT if rows == columns else columns, dtype=dtype)
    return call("tf.linalg.band_part", filled_expression(value.shape, number), lower, upper)


def numbers(value: np.ndarray) -> Any:
    """Returns an array as nested lists of numbers that keep their dtype."""
    return [numbers(item) for item in value] if value.ndim else value[()]
