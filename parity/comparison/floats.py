"""Floating-point arrays: their bits, units in the last place between them, lengths and ratios."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np


def have_same_bits(left: np.ndarray, right: np.ndarray) -> bool:
    """Tells whether two float arrays of one shape and dtype have the same bits, without copies of them.

    >>> zero = np.float32([0.0])
    >>> have_same_bits(zero, np.zeros_like(zero)), have_same_bits(zero, -zero)
    (True, False)
    """
    if left.itemsize > 8:  # no integers are as large
        return left.tobytes() == right.tobytes()
    return bool(np.array_equal(bits(left), bits(right)))


def is_finite(array: np.ndarray) -> bool:
    """Tells whether no element of a float array is NaN or infinite.

    The sum is tested first, since it is fast: it is finite only if every element is. Large numbers may overflow it, so
    where it is not finite, the elements are tested.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(np.sum(array))) or bool(np.isfinite(array).all())


def relative(gap: float, scale: float) -> float:
    """Returns `gap / scale`; 0 if the gap is 0, infinity if only the scale is."""
    if gap == 0.0:
        return 0.0
    return gap / scale if scale > 0.0 else float("inf")


def length(values: Iterable[np.ndarray]) -> float:
    """Returns the Euclidean length of all elements of several arrays, summed in float64."""
    return float(np.sqrt(sum(float(np.sum(np.square(value, dtype=np.float64))) for value in values)))


def bits(array: np.ndarray) -> np.ndarray:
    """Returns the floats' bit patterns as unsigned integers of their size."""
    sizes: dict[int, type[np.unsignedinteger]] = {2: np.uint16, 4: np.uint32, 8: np.uint64}
    return array.view(sizes[array.dtype.itemsize])


def ulps(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Returns how many representable values lie between the elements, as uint64; both zeros are one point."""
    first, second = _ordered_patterns(left), _ordered_patterns(right)
    # The difference of two int64 may overflow an int64, but is right as a uint64: both count modulo 2**64.
    return np.subtract(np.maximum(first, second).view(np.uint64), np.minimum(first, second).view(np.uint64))


def _ordered_patterns(array: np.ndarray) -> np.ndarray:
    """Bit patterns as int64 that increase with the value, -0.0 and 0.0 on one point; at least one dimension."""
    signed = {2: np.int16, 4: np.int32, 8: np.int64}[array.dtype.itemsize]
    pattern = np.atleast_1d(array).view(signed).astype(np.int64)
    sign = pattern >> 63  # -1 for a negative number, whose other bits are its magnitude
    return (pattern ^ (sign & np.iinfo(signed).max)) - sign
