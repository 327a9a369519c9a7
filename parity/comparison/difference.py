"""How far two tensors are apart, in pure numpy."""

from __future__ import annotations

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class Difference:
    """The difference of `right` from `left`, two arrays of one shape and dtype.

    Attributes:
      name: the tensor.
      size: its elements.
      differing: elements whose bits differ (NaNs of any payload count as equal).
      max_abs: largest |right - left| over finite elements.
      max_rel: `max_abs` over the largest |left|, or over a larger scale that `compare` was given; infinite where
        that is zero. Elementwise relative errors mean nothing where terms cancel.
      max_ulp: largest number of representable values between two elements.
      index: of the worst element: a non-finite mismatch, else the largest |right - left|.
      left, right: the values there.
      nonfinite: NaNs and infinities that both sides have in the same places.
      nonfinite_mismatch: elements where only one side has that NaN or infinity.
    """

    name: str
    size: int = 0
    differing: int = 0
    max_abs: float = 0.0
    max_rel: float = 0.0
    max_ulp: int = 0
    index: tuple = ()
    left: object = None
    right: object = None
    nonfinite: int = 0
    nonfinite_mismatch: int = 0

    @property
    def identical(self):
        """Whether every element has the same bits."""
        return not self.differing


def compare(name, left, right, scale=0.0):
    """The `Difference` of two arrays; texts and integers are compared for equality.

    Args:
      scale: what `max_rel` is relative to, if larger than every |left|.

    Raises:
      ValueError: shapes or dtypes differ (variables are matched before any number is compared).
    """
    left, right = np.asarray(left), np.asarray(right)
    if left.shape != right.shape or left.dtype.kind != right.dtype.kind:
        raise ValueError(f"{name}: {left.dtype} {left.shape} against {right.dtype} {right.shape}")
    if left.dtype.kind != "f":
        return _compare_discrete(name, left, right)
    if left.dtype != right.dtype:
        raise ValueError(f"{name}: {left.dtype} against {right.dtype}")
    finite = np.isfinite(left) & np.isfinite(right)
    if finite.all() and left.tobytes() == right.tobytes():
        return Difference(name, left.size)
    same = (left == right) | (np.isnan(left) & np.isnan(right))
    mismatch = ~finite & ~same
    # -0.0 equals 0.0 but has other bits.
    differing = np.where(finite, bits(left) != bits(right), ~same)
    with np.errstate(over="ignore", invalid="ignore"):
        gap = np.where(finite, np.abs(np.where(finite, right, 0) - np.where(finite, left, 0)), 0)
    return _summarize(name, left, right, finite, same, mismatch, differing, gap, scale)


def _summarize(name, left, right, finite, same, mismatch, differing, gap, scale):
    worst = np.where(mismatch, np.inf, gap)
    where = np.unravel_index(int(np.argmax(worst)), left.shape) if differing.any() and left.size else ()
    largest = np.max(np.where(finite, np.abs(left), 0), initial=0.0)
    max_abs = float(np.max(gap, initial=0.0))
    return Difference(
        name=name,
        size=left.size,
        differing=int(differing.sum()),
        max_abs=max_abs,
        max_rel=relative(max_abs, max(float(largest), scale)),
        max_ulp=int(np.max(np.where(finite, ulps(left, right), 0), initial=0)),
        index=tuple(int(i) for i in where),
        left=left[where].item() if differing.any() else None,
        right=right[where].item() if differing.any() else None,
        nonfinite=int((~finite & same).sum()),
        nonfinite_mismatch=int(mismatch.sum()),
    )


def _compare_discrete(name, left, right):
    differing = np.asarray(left != right)
    where = np.unravel_index(int(np.argmax(differing)), left.shape) if differing.any() else ()
    return Difference(
        name=name,
        size=left.size,
        differing=int(differing.sum()),
        max_abs=float("inf") if differing.any() else 0.0,
        max_rel=float("inf") if differing.any() else 0.0,
        index=tuple(int(i) for i in where),
        left=left[where].item() if differing.any() else None,
        right=right[where].item() if differing.any() else None,
    )


def relative(gap, scale):
    """`gap / scale`; 0 for no gap, infinity for a gap beside nothing."""
    if gap == 0.0:
        return 0.0
    return gap / scale if scale > 0.0 else float("inf")


def bits(array):
    """The floats' bit patterns as unsigned integers of their size."""
    return array.view({2: np.uint16, 4: np.uint32, 8: np.uint64}[array.dtype.itemsize])


def ulps(left, right):
    """How many representable values lie between the elements, as uint64; both zeros are one point."""
    first, second = _ordered(left), _ordered(right)
    return np.maximum(first, second) - np.minimum(first, second)


def _ordered(array):
    """Bit patterns as uint64 that increase with the value, -0.0 and 0.0 on one point."""
    pattern = bits(array).astype(np.uint64)
    sign = np.uint64(1) << np.uint64(array.dtype.itemsize * 8 - 1)
    negative = (pattern & sign) != 0
    magnitude = pattern & ~sign
    return np.where(negative, sign - magnitude, sign + magnitude)
