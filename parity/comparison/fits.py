"""Least-squares fits of one array by others, in pure numpy and float64."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class FactorFit(NamedTuple):
    """`observed ~ factor * reference`; `residual` is the part of |observed| that is left over, 0 to 1."""

    factor: float
    residual: float


class CombinationFit(NamedTuple):
    """`observed ~ sum of coefficients[i] * basis[i]`; `residual` as in `FactorFit`."""

    coefficients: np.ndarray
    residual: float


def flatten_arrays(arrays, names=None):
    """The arrays {name: array} of `names` (default: all, sorted) as one float64 vector."""
    names = sorted(arrays) if names is None else names
    parts = [np.asarray(arrays[name], np.float64).ravel() for name in names]
    return np.concatenate(parts) if parts else np.zeros(0)


def fit_factor(reference, observed):
    """The `FactorFit` of two float64 vectors; not-a-number where the reference is nothing or anything is not finite."""
    power = float(reference @ reference)
    if not power or not np.isfinite(power) or not np.all(np.isfinite(observed)):
        return FactorFit(float("nan"), float("nan"))
    factor = float(reference @ observed) / power
    return FactorFit(factor, relative_norm(observed - factor * reference, observed))


def fit_combination(basis, observed):
    """The `CombinationFit` of a vector by the vectors in `basis`; each is normalized first, so that small ones count too."""
    columns = np.stack(basis, axis=1)
    norms = np.linalg.norm(columns, axis=0)
    if not np.all(np.isfinite(norms)) or not np.all(np.isfinite(observed)):
        return CombinationFit(np.full(len(basis), np.nan), float("nan"))
    norms = np.where(norms > 0, norms, 1.0)
    solution = np.linalg.lstsq(columns / norms, observed, rcond=1e-9)[0]
    return CombinationFit(solution / norms, relative_norm(observed - (columns / norms) @ solution, observed))


def relative_norm(gap, whole):
    """|gap| / |whole|; 0 for no gap, infinity for a gap beside nothing."""
    gap, whole = float(np.linalg.norm(gap)), float(np.linalg.norm(whole))
    if gap == 0.0:
        return 0.0
    return gap / whole if whole else float("inf")


def near(value, target, tolerance=1e-3):
    """Whether `value` is `target` within the relative `tolerance`; nothing is near zero but zero's tolerance itself."""
    return bool(np.isfinite(value)) and abs(value - target) <= tolerance * max(abs(target), 1e-30)


def spread(values):
    """(largest - smallest) / largest magnitude of numbers; 0 for none."""
    values = np.asarray(list(values), np.float64)
    top = np.max(np.abs(values), initial=0.0)
    return float(np.max(values) - np.min(values)) / float(top) if top else 0.0
