"""`Detector`: a function that tells whether a comparison would have distinguished a mutant's tensor from the job's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

from parity.comparison import stages
from parity.comparison.floats import bits, have_same_bits, is_finite
from parity.comparison.judging import tolerance
from parity.coverage.mutant import Effect

#: Difference, relative to a tensor's largest entry, that a comparison in float64 distinguishes from rounding. Its own
#: tolerances are about ten times smaller.
FLOAT64_LIMIT = 1e-9

#: A function from an `Effect` to whether the comparison would have failed.
Detector: TypeAlias = Callable[[Effect], bool]


def detects_any_bit(effect: Effect) -> bool:
    """Tells whether a comparison for identical bits would have failed: some element has other bits."""
    expected, mutated = np.asarray(effect.expected), np.asarray(effect.mutated)
    if expected.dtype.kind != "f":
        return bool(np.any(expected != mutated))
    if _are_equal(expected, mutated) or not _is_finite(expected, mutated):
        return False
    if expected.dtype != mutated.dtype or expected.shape != mutated.shape:
        return True
    return bool(np.any(bits(expected) != bits(mutated)))


def detector_in_float64(allowed: Mapping[str, float]) -> Detector:
    """Returns the detector of a comparison that judges its tensors in float64.

    Args:
      allowed: {stage: relative difference} of the stages that may differ by more, where formulas agree in float32 only.
    """

    def detects(effect: Effect) -> bool:
        if effect.stage == stages.RATE:  # a float32 scalar in either precision
            return _differs(effect, 4 * float(np.finfo(np.float32).eps))
        return _differs(effect, max(FLOAT64_LIMIT, allowed.get(effect.stage, 0.0)))

    return detects


def detector_beyond_tolerance(dtype: str, replicas: int) -> Detector:
    """Returns the detector of a comparison within the tolerances of "auto", in the dtype of the run.

    Args:
      dtype: of the run.
      replicas: number of replicas.
    """

    def detects(effect: Effect) -> bool:
        return _differs(effect, tolerance.auto(effect.stage, np.dtype(dtype), replicas, 0))

    return detects


def _differs(effect: Effect, limit: float) -> bool:
    expected, mutated = np.asarray(effect.expected), np.asarray(effect.mutated)
    if expected.dtype.kind != "f":
        return bool(np.any(expected != mutated))
    if _are_equal(expected, mutated) or not _is_finite(expected, mutated) or not expected.size:
        return False
    gap = np.max(np.abs(np.asarray(mutated, np.float64) - expected))
    return bool(gap > limit * np.max(np.abs(expected)))


def _are_equal(left: np.ndarray, right: np.ndarray) -> bool:
    """Whether float arrays have the same bits, as most tensors do where one constant is changed; the cheapest test."""
    return left.dtype == right.dtype and left.shape == right.shape and have_same_bits(left, right)


def _is_finite(*arrays: np.ndarray) -> bool:
    """Whether no entry is NaN or infinite: after an overflow, a tensor shows nothing about its cause."""
    return all(map(is_finite, arrays))
