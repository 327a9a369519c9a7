"""`Reduction`: a multiple of the sum or of the concatenation of the towers' values, recognised from numbers."""

from __future__ import annotations

import functools
import operator
from typing import NamedTuple

import numpy as np

#: Relative tolerance within which a reduction is a multiple of the sum; float32 gradients are summed in any order.
TOLERANCE = 1e-5
#: A scale this near to an integer is that integer.
INTEGER_TOLERANCE = 1e-6


class Reduction(NamedTuple):
    """A recognised reduction.

    Attributes:
      kind: "mean", "sum" or "concat".
      scale: factor on the sum or on the concatenation; 1 for a mean.
      affine: whether a term that no tower computes is added, such as a weight decay outside the towers.
    """

    kind: str
    scale: float
    affine: bool


def reduction_of_values(result: np.ndarray, towers: list[np.ndarray], affine: bool) -> Reduction | None:
    """Recognises a result as a reduction of the towers' values.

    Args:
      result: what the graph computes from them, less what it computes from zeros.
      towers: float64; for each tower, the sum of its parts.
      affine: whether the graph computes something else than zero from zeros.

    Returns:
      The reduction, or None if it is neither a multiple of the sum nor of the concatenation.
    """
    added = sum_of(towers)
    if result.shape == added.shape and added.size:
        scale = _multiple(result, added)
        if scale is not None:
            mean = len(towers) > 1 and abs(scale * len(towers) - 1) < TOLERANCE
            return Reduction("mean", 1.0, affine) if mean else Reduction("sum", scale, affine)
    joined = np.concatenate(towers, 0) if np.ndim(added) else None
    if joined is not None and result.shape == joined.shape and not affine:
        scale = _multiple(result, joined)
        return None if scale is None else Reduction("concat", scale, False)
    return None


def sum_of(arrays: list[np.ndarray]) -> np.ndarray:
    """Returns the sum of some arrays, added in their order."""
    return functools.reduce(operator.add, arrays)


def _multiple(result: np.ndarray, reference: np.ndarray) -> float | None:
    """The c other than zero for which the result is c times the reference, to rounding; None if there is none."""
    norm = float((reference * reference).sum())
    if norm == 0.0:
        return None
    scale = float((result * reference).sum()) / norm
    largest = np.abs(reference).max()
    close = np.allclose(result, scale * reference, rtol=TOLERANCE, atol=TOLERANCE * largest * abs(scale))
    if not close or not scale:
        return None
    return float(round(scale)) if abs(scale - round(scale)) <= INTEGER_TOLERANCE else float(np.round(scale, 12))
