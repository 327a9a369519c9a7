"""Gradients that underflow: the bits of such tiny products depend on the place at which a loss is scaled."""

from __future__ import annotations

import numpy as np

from parity.comparison.floats import bits
from workloads.program import StepRecord

#: Powers of 2 between the smallest normal number and a number whose factors may have been rounded to zero.
MARGIN = 26


def differ_by_underflow_alone(left: StepRecord, right: StepRecord) -> bool:
    """Returns whether gradients of two records differ, and only where both are so small that factors underflowed.

    A processor rounds what is smaller than the smallest normal number to zero. So `loss / 4` before a product of small
    numbers, and a fourth of the product, are not the same there, though a division by a power of 2 is exact.

    Args:
      left: record of a step.
      right: record of the other side's step from the same state.
    """
    found = False
    for one, other in zip(left.gradients, right.gradients):
        for name in one.keys() & other.keys():
            mine, yours = np.asarray(one[name]), np.asarray(other[name])
            if mine.shape != yours.shape or mine.dtype != yours.dtype or mine.dtype.kind != "f":
                continue
            differs = bits(mine) != bits(yours)
            small = np.ldexp(np.finfo(mine.dtype).tiny, MARGIN)
            if not (np.maximum(np.abs(mine), np.abs(yours))[differs] < small).all():
                return False
            found |= bool(differs.any())
    return found
