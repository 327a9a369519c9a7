"""Difference of two tensors: differing elements, largest absolute and relative difference, units in the last place."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple, TypeAlias

import numpy as np

from parity.comparison.floats import bits, have_same_bits, is_finite, relative, ulps
from workloads.support.errors import InputError

#: One element of an array as a Python value.
Element: TypeAlias = float | int | str | bool | None


@dataclasses.dataclass(frozen=True)
class Difference:
    """The difference of `right` from `left`, two arrays of one shape and dtype.

    Attributes:
      name: the tensor's name.
      size: number of elements.
      differing: elements whose bits differ (NaNs of any payload count as equal).
      max_abs: largest |right - left| over finite elements.
      max_rel: `max_abs` over the largest |left|, or over a larger reference magnitude that `compare` was given;
        infinite where that is zero. Not an elementwise relative error, which means nothing where terms cancel.
      max_ulp: largest number of representable values between two elements.
      index: of the worst element: an element that is finite on one side only, else the largest |right - left|, else a
        zero of another sign.
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
    index: tuple[int, ...] = ()
    left: Element = None
    right: Element = None
    nonfinite: int = 0
    nonfinite_mismatch: int = 0

    @property
    def identical(self) -> bool:
        """Whether every element has the same bits."""
        return not self.differing


def compare(name: str, left: np.ndarray, right: np.ndarray, scale: float = 0.0) -> Difference:
    """Compares two arrays; texts and integers are compared for equality.

    Args:
      name: the tensor's name, for the result and for messages.
      left: array of any shape; the reference.
      right: array of the same shape and dtype.
      scale: reference magnitude of `max_rel`, where larger than every |left|.

    Returns:
      The `Difference`.

    Raises:
      InputError: shapes or dtypes differ, as those of a recording can.

    >>> difference = compare("w", np.float32([1, 4]), np.float32([1, 5]))
    >>> difference.differing, difference.max_abs, difference.max_rel, difference.index
    (1, 1.0, 0.25, (1,))
    """
    left, right = np.asarray(left), np.asarray(right)
    if left.shape != right.shape or left.dtype.kind != right.dtype.kind:
        raise InputError(
            f"records do not line up: {name} is {left.dtype} {left.shape} on the left, {right.dtype} {right.shape} on "
            "the right"
        )
    if left.dtype.kind != "f":
        return _compare_discrete(name, left, right)
    if left.dtype != right.dtype:
        raise InputError(f"records do not line up: {name} is {left.dtype} on the left, {right.dtype} on the right")
    if is_finite(left):
        if have_same_bits(left, right):
            return Difference(name, left.size)
        if is_finite(right):
            return _compare_finite(name, left, right, scale)
    return _compare_floats(name, left, right, scale)


class _Elements(NamedTuple):
    """Elementwise comparison of two float arrays; every field is an array of their shape."""

    finite: np.ndarray  # finite on both sides
    equal: np.ndarray  # equal, or NaN on both sides
    differing: np.ndarray  # other bits
    gap: np.ndarray  # |right - left| where finite, else 0


def relative_gap(left: np.ndarray, right: np.ndarray, scale: float) -> float:
    """Returns the `max_rel` of `compare` alone, for arrays whose shapes and dtypes are known to agree.

    Args:
      left, right: arrays of one shape and dtype.
      scale: as in `compare`.

    Returns:
      the largest difference, relative to the largest entry of `left` or to `scale`.
    """
    if is_finite(left) and is_finite(right):
        return _gap_of_finite(left, right, scale)[2]
    return compare("", left, right, scale).max_rel


def _gap_of_finite(left: np.ndarray, right: np.ndarray, scale: float) -> tuple[np.ndarray, float, float]:
    """|right - left|, the largest of it, and that relative to the largest |left| or to `scale`; all is finite."""
    with np.errstate(over="ignore"):
        gap = np.abs(right - left)
    largest = max(float(np.max(left, initial=0.0)), -float(np.min(left, initial=0.0)))
    max_abs = float(np.max(gap, initial=0.0))
    return gap, max_abs, relative(max_abs, max(largest, scale))


def _compare_finite(name: str, left: np.ndarray, right: np.ndarray, scale: float) -> Difference:
    """`compare` for floats without NaN and infinity, whose bits differ somewhere."""
    gap, max_abs, max_rel = _gap_of_finite(left, right, scale)
    differing = bits(left) != bits(right)
    where = _worst_index(gap if max_abs else differing)
    return Difference(
        name=name,
        size=left.size,
        differing=int(np.count_nonzero(differing)),
        max_abs=max_abs,
        max_rel=max_rel,
        max_ulp=int(np.max(ulps(left, right))),
        index=where,
        left=left[where].item(),
        right=right[where].item(),
    )


def _compare_floats(name: str, left: np.ndarray, right: np.ndarray, scale: float) -> Difference:
    """`compare` for any floats. NaN equals NaN, an infinity equals itself, and neither counts in the gaps."""
    finite, equal, differing, gap = _compare_elements(left, right)
    mismatch = ~finite & ~equal
    badness = np.where(mismatch, np.inf, gap)
    where = _worst_index(badness if badness.any() else differing) if differing.any() else None
    largest = float(np.max(np.where(finite, np.abs(left), 0), initial=0.0))
    max_abs = float(np.max(gap, initial=0.0))
    return Difference(
        name=name,
        size=left.size,
        differing=int(differing.sum()),
        max_abs=max_abs,
        max_rel=relative(max_abs, max(largest, scale)),
        max_ulp=int(np.max(np.where(finite, ulps(left, right), 0), initial=0)),
        index=where or (),
        left=None if where is None else left[where].item(),
        right=None if where is None else right[where].item(),
        nonfinite=int((~finite & equal).sum()),
        nonfinite_mismatch=int(mismatch.sum()),
    )


def _compare_elements(left: np.ndarray, right: np.ndarray) -> _Elements:
    finite = np.isfinite(left) & np.isfinite(right)
    equal = (left == right) | (np.isnan(left) & np.isnan(right))
    # -0.0 equals 0.0 but has other bits.
    differing = np.where(finite, bits(left) != bits(right), ~equal)
    with np.errstate(over="ignore", invalid="ignore"):
        gap = np.where(finite, np.abs(np.where(finite, right, 0) - np.where(finite, left, 0)), 0)
    return _Elements(finite, equal, differing, gap)


def _compare_discrete(name: str, left: np.ndarray, right: np.ndarray) -> Difference:
    differing = np.asarray(left != right)
    if not differing.any():
        return Difference(name, left.size)
    where = _worst_index(differing)
    return Difference(
        name=name,
        size=left.size,
        differing=int(differing.sum()),
        max_abs=float("inf"),
        max_rel=float("inf"),
        index=where,
        left=left[where].item(),
        right=right[where].item(),
    )


def _worst_index(badness: np.ndarray) -> tuple[int, ...]:
    """Index of the largest element."""
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(badness)), badness.shape))
