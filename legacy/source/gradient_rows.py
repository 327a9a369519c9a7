"""Rows of sparse gradients that two programs compute in different orders: their sums are compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, Sequence

import numpy as np

from workloads.lifted.plan import indices_label

if TYPE_CHECKING:
    from workloads.program import Arrays


def sums_of_reordered_rows(expected: Arrays, found: Arrays, weights: Sequence[str]) -> bool:
    """Removes the indices of rows from two programs' results, and adds up rows whose order differs.

    The gradients of two lookups of one table are joined in the order in which `tf.gradients` comes to the lookups. An
    optimizer adds the rows of each index, so that another order of the same rows is another rounding.

    >>> one = {"w": np.array([[1.0], [2.0], [4.0]]), "w (indices)": np.array([3, 1, 3])}
    >>> two = {"w": np.array([[4.0], [1.0], [2.0]]), "w (indices)": np.array([3, 3, 1])}
    >>> sums_of_reordered_rows(one, two, ["w"]), one["w"].tolist(), two["w"].tolist()
    (True, [[2.0], [5.0]], [[2.0], [5.0]])

    Args:
      expected: {name: result} of one program, with {`indices_label(weight)`: indices of the rows of a gradient}.
      found: those of the other.
      weights: those whose gradients are rows.

    Returns:
      Whether a gradient has rows of the same indices in another order.
    """
    reordered = False
    for name in weights:
        label = indices_label(name)
        old, new = expected.pop(label), found.pop(label)
        if old.shape == new.shape and not np.array_equal(old, new):  # sums of other indices differ, if only in number
            reordered |= np.array_equal(np.sort(old), np.sort(new))
            expected[name], found[name] = _sums(expected[name], old), _sums(found[name], new)
    return reordered


def _sums(rows: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Returns the sum of the rows of each index, in the order of the indices."""
    sums: Dict[int, np.ndarray] = {}
    for index, row in zip(indices.tolist(), rows):
        sums[index] = sums[index] + row if index in sums else row
    return np.stack([sums[index] for index in sorted(sums)])
