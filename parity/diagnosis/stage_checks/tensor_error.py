"""`TensorError`: the distance of one tensor in one step from what its stage's inputs give, in roundings."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class TensorError(NamedTuple):
    """One tensor in one step, checked.

    Attributes:
      stage: as in `stages.STAGES`.
      name: of the variable, or of the replica where the stage has no variables.
      step: number of the step.
      roundings: largest error of an element, in roundings of the operations that make it; infinity where a value is
        not finite though its inputs are.
      most: number of roundings that these operations may make.
      fact: fitted numbers that describe an error beyond `most`; "" for none.
    """

    stage: str
    name: str
    step: int
    roundings: float
    most: float
    fact: str = ""

    @property
    def off(self) -> bool:
        """Whether rounding does not explain the tensor; true for an error that is not a number."""
        return not self.roundings <= self.most


def elements_error(actual: np.ndarray, expected: np.ndarray, unit: np.ndarray) -> float:
    """Measures the largest error of an element in roundings.

    Args:
      actual, expected: float64 arrays of one shape.
      unit: size of one rounding of each element.

    Returns:
      0 or more; infinity where only one of the two is finite. Elements that both are not finite count as equal.

    >>> elements_error(np.array([1.0, 3.0]), np.array([1.0, 2.0]), np.array([0.5, 0.25]))
    4.0
    >>> elements_error(np.array([np.nan]), np.array([2.0]), np.array([1.0]))
    inf
    """
    finite = np.isfinite(actual) & np.isfinite(expected)
    if np.any(np.isfinite(actual) != np.isfinite(expected)):
        return float("inf")
    if not finite.any():
        return 0.0
    return float(np.max(np.abs(actual - expected)[finite] / np.maximum(unit[finite], np.finfo(np.float64).tiny)))


def norm_error(actual: np.ndarray, expected: np.ndarray, length: float, eps: float) -> float:
    """Measures the distance of two tensors in roundings of a length.

    Args:
      actual, expected: float64 arrays of one shape.
      length: the length that one rounding is `eps` of.
      eps: machine epsilon.

    Returns:
      0 or more; infinity for values that are finite on one side only, and for a distance beside no length.
    """
    finite = np.isfinite(actual) & np.isfinite(expected)
    if np.any(np.isfinite(actual) != np.isfinite(expected)):
        return float("inf")
    gap = float(np.linalg.norm((actual - expected)[finite]))
    if gap == 0.0:
        return 0.0
    return gap / (eps * length) if length and np.isfinite(length) else float("inf")
