"""Rows of two arrays in another order: one side's batch holds its examples in another order."""

from __future__ import annotations

import numpy as np

#: Relative difference of two fingerprints of the same row: that of float32 activations whose sums are taken in another
#: order, and far below that of two different rows.
SAME_ROW = 1e-5


def rows_are_reordered(left: np.ndarray, right: np.ndarray) -> bool:
    """Returns whether the rows of two arrays are the same, and some of them are in other places.

    Args:
      left: [batch, ...].
      right: of any shape.

    Returns:
      False too for arrays without rows, and for ones with a number that is not finite.

    >>> rows_are_reordered(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[3.0, 4.0], [1.0, 2.0]]))
    True
    >>> rows_are_reordered(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[2.0, 1.0], [4.0, 3.0]]))
    False
    """
    if left.shape != right.shape or not left.ndim or not left.size:
        return False
    marks, others = _fingerprints(left), _fingerprints(right)
    near = SAME_ROW * np.abs(marks).max(initial=0.0)
    in_place = np.abs(marks - others) <= near
    return not in_place.all() and bool((np.abs(np.sort(marks) - np.sort(others)) <= near).all())


def _fingerprints(rows: np.ndarray) -> np.ndarray:
    """[batch] float64: a number of each row, by weights that are the same for all."""
    flat = np.asarray(rows, np.float64).reshape(len(rows), -1)
    return flat @ np.random.default_rng(0).uniform(0.5, 1.5, flat.shape[1])
