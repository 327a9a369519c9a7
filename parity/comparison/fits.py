"""Least-squares fits of one array by others, in pure numpy and float64."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np


class FactorFit(NamedTuple):
    """Fit `observed ~ factor * reference`; `residual` is the part of |observed| that is left over, 0 to 1."""

    factor: float
    residual: float


class CombinationFit(NamedTuple):
    """Fit `observed ~ sum of coefficients[i] * basis[i]`; `residual` as in `FactorFit`."""

    coefficients: np.ndarray
    residual: float


def flatten_arrays(arrays: Mapping[Any, Any], names: Iterable[Any] | None = None) -> np.ndarray:
    """Returns the arrays {name: array} of `names` (default: all, sorted) as one float64 vector [elements]."""
    names = sorted(arrays) if names is None else names
    parts = [np.asarray(arrays[name], np.float64).ravel() for name in names]
    return np.concatenate(parts) if parts else np.zeros(0)


def fit_factor(reference: np.ndarray, observed: np.ndarray) -> FactorFit:
    """Returns the least-squares factor of two float64 vectors.

    Both values are NaN where the reference is zero or anything is not finite.

    >>> fit_factor(np.array([1.0, 2.0, -4.0]), np.array([4.0, 8.0, -16.0]))
    FactorFit(factor=4.0, residual=0.0)
    >>> fit_factor(np.array([4.0, 0.0]), np.array([4.0, 3.0])).residual  # 3 of length 5 is left over
    0.6
    """
    power = float(reference @ reference)
    if not power or not np.isfinite(power) or not np.all(np.isfinite(observed)):
        return FactorFit(float("nan"), float("nan"))
    factor = float(reference @ observed) / power
    return FactorFit(factor, relative_norm(observed - factor * reference, observed))


def fit_combination(basis: Sequence[np.ndarray], observed: np.ndarray) -> CombinationFit:
    """Returns the least-squares coefficients of a vector by the vectors in `basis`.

    Each basis vector is normalized first, so that small ones count too. Weight decay in a gradient, for example, is
    the weight's coefficient beside the data's gradient:

    >>> gradient, weight = np.array([1.0, 0.0, 2.0]), np.array([0.0, 4.0, 1.0])
    >>> fit = fit_combination([gradient, weight], 2.0 * gradient + 0.25 * weight)
    >>> [round(float(value), 9) for value in fit.coefficients]
    [2.0, 0.25]
    """
    columns = np.stack(basis, axis=1)
    norms = np.linalg.norm(columns, axis=0)
    if not np.all(np.isfinite(norms)) or not np.all(np.isfinite(observed)):
        return CombinationFit(np.full(len(basis), np.nan), float("nan"))
    norms = np.where(norms > 0, norms, 1.0)
    solution = np.linalg.lstsq(columns / norms, observed, rcond=1e-9)[0]
    return CombinationFit(solution / norms, relative_norm(observed - (columns / norms) @ solution, observed))


def relative_norm(gap: np.ndarray, whole: np.ndarray) -> float:
    """Returns |gap| / |whole|; 0 if the gap is zero, infinity if only the whole is.

    >>> relative_norm(np.array([3.0, 4.0]), np.array([0.0, 10.0]))
    0.5
    """
    gap_length, whole_length = float(np.linalg.norm(gap)), float(np.linalg.norm(whole))
    if gap_length == 0.0:
        return 0.0
    return gap_length / whole_length if whole_length else float("inf")


def near(value: float, target: float, tolerance: float = 1e-3) -> bool:
    """Tells whether two numbers agree within a relative tolerance.

    Args:
      value: any number; the answer is false for NaN and infinities.
      target: the number that the tolerance is relative to; only zero itself is near zero.
      tolerance: largest |value - target| / |target|.

    Returns:
      true if they agree.
    """
    return bool(np.isfinite(value)) and abs(value - target) <= tolerance * max(abs(target), 1e-30)


def largest(values: Iterable[float]) -> float:
    """Returns the largest of numbers, 0 for none; infinity, which exceeds every bound, if any is NaN.

    >>> largest([0.5, 2.0]), largest([2.0, float("nan"), 1.0]), largest([])
    (2.0, inf, 0.0)
    """
    numbers = np.asarray(list(values), np.float64)
    return float("inf") if np.any(np.isnan(numbers)) else float(np.max(numbers)) if numbers.size else 0.0


def spread(values: Iterable[float]) -> float:
    """Returns (largest - smallest) / largest magnitude of numbers; 0 for none, infinity if any is not finite.

    >>> spread([2.0, 1.0, 1.5])
    0.5
    """
    numbers = np.asarray(list(values), np.float64)
    if not np.all(np.isfinite(numbers)):
        return float("inf")  # exceeds every threshold
    top = np.max(np.abs(numbers), initial=0.0)
    return float(np.max(numbers) - np.min(numbers)) / float(top) if top else 0.0
