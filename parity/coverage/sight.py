"""`Sight`: a function that says whether a comparison would distinguish a mutant's tensor from the job's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

from parity.comparison import stages
from parity.comparison.difference import bits
from parity.comparison.judging import tolerance
from parity.coverage.mutant import Effect

#: Relative difference, of a tensor's largest entry, that a comparison in double precision tells from rounding. Its
#: tolerances are about ten times smaller.
DOUBLE_LIMIT = 1e-9

#: A function from an `Effect` to whether the comparison would have failed.
Sight: TypeAlias = Callable[[Effect], bool]


def sees_bits(effect: Effect) -> bool:
    """Tells whether a comparison of bits would have failed: some element has other bits."""
    expected, mutated = np.asarray(effect.expected), np.asarray(effect.mutated)
    if expected.dtype.kind != "f":
        return bool(np.any(expected != mutated))
    if not _is_finite(expected, mutated):
        return False
    if expected.dtype != mutated.dtype or expected.shape != mutated.shape:
        return True
    return bool(np.any(bits(expected) != bits(mutated)))


def sees_in_double(allowed: Mapping[str, float]) -> Sight:
    """Returns the sight of a comparison whose tensors are judged in double precision.

    Args:
      allowed: {stage: relative difference} that is allowed beyond that, for formulas that agree in float32 only.
    """

    def sees(effect: Effect) -> bool:
        if effect.stage == stages.RATE:  # a float32 scalar in either precision
            return _differs(effect, 4 * float(np.finfo(np.float32).eps))
        return _differs(effect, max(DOUBLE_LIMIT, allowed.get(effect.stage, 0.0)))

    return sees


def sees_within_tolerance(dtype: str, replicas: int) -> Sight:
    """Returns the sight of a comparison within the tolerances of "auto", without double precision.

    Args:
      dtype: of the run.
      replicas: number of replicas.
    """

    def sees(effect: Effect) -> bool:
        return _differs(effect, tolerance.auto(effect.stage, np.dtype(dtype), replicas, 0))

    return sees


def _differs(effect: Effect, limit: float) -> bool:
    expected, mutated = np.asarray(effect.expected), np.asarray(effect.mutated)
    if expected.dtype.kind != "f":
        return bool(np.any(expected != mutated))
    if not _is_finite(expected, mutated) or not expected.size:
        return False
    gap = np.max(np.abs(np.asarray(mutated, np.float64) - expected))
    return bool(gap > limit * np.max(np.abs(expected)))


def _is_finite(*arrays: np.ndarray) -> bool:
    """Whether nothing is NaN or infinite: such tensors differ from nothing that went wrong in another way."""
    return all(bool(np.isfinite(array).all()) for array in arrays)
