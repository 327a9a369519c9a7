"""Crossing point of a measured curve with a level, by interpolation on a logarithmic axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from parity.speed.ratio import SpeedRatio

#: Crossing points beyond the ends of what was measured.
BELOW_ALL, ABOVE_ALL = 0.0, math.inf


def crossing_point(xs: Sequence[float], ys: Sequence[float], level: float) -> float:
    """Finds where a falling curve comes down to a level for good.

    Args:
      xs: positive and ascending.
      ys: the curve's values there.
      level: to come down to.

    Returns:
      the smallest x from which on the curve stays at or below the level; between two measured points it is taken to be
      linear in log x. `BELOW_ALL` if it is nowhere above the level, `ABOVE_ALL` if it is so at the last x.

    >>> crossing_point([1, 4, 16], [3.0, 2.0, 0.0], 1.0)
    8.0
    """
    above = [number for number, y in enumerate(ys) if y > level]
    if not above:
        return BELOW_ALL
    before = above[-1]
    if before == len(xs) - 1:
        return ABOVE_ALL
    part = (ys[before] - level) / (ys[before] - ys[before + 1])
    return 2.0 ** (math.log2(xs[before]) + part * (math.log2(xs[before + 1]) - math.log2(xs[before])))


class Crossing(NamedTuple):
    """A crossing point with its interval, each as from `crossing_point`, and the range in which it was looked for.

    Attributes:
      median: of the curve of medians.
      low: of the curve of the intervals' lower ends.
      high: of the curve of their upper ends.
      first: the smallest x.
      last: the largest x.
    """

    median: float
    low: float
    high: float
    first: float
    last: float

    def text(self) -> str:
        """Returns the point and its interval.

        >>> Crossing(90.4, 64.0, ABOVE_ALL, 32, 2000).text()
        '90 [64, above 2000]'
        """
        median, low, high = (point_text(point, self.first, self.last) for point in self[:3])
        return f"{median} [{low}, {high}]"

    def where_above(self) -> str:
        """Returns at which global batches the curve is above the level.

        >>> Crossing(90.4, 64.0, ABOVE_ALL, 32, 2000).where_above()
        'below a global batch of 90 [64, above 2000]'
        >>> Crossing(BELOW_ALL, BELOW_ALL, 46.0, 32, 2000).where_above()
        'at none of the global batches from 32 to 2000 (crossing point: below 32 [below 32, 46])'
        """
        if BELOW_ALL < self.median < ABOVE_ALL:
            return f"below a global batch of {self.text()}"
        amount = "none" if self.median == BELOW_ALL else "all"
        range_text = f"{self.first:g} to {self.last:g}"
        return f"at {amount} of the global batches from {range_text} (crossing point: {self.text()})"


def point_text(point: float, first: float, last: float) -> str:
    """Returns a crossing point as text.

    Args:
      point: from `crossing_point`.
      first: the smallest x.
      last: the largest x.

    Returns:
      a number, or beyond which end of the range it lies.
    """
    if point == BELOW_ALL:
        return f"below {first:g}"
    return f"above {last:g}" if point == ABOVE_ALL else f"{point:.0f}"


def crossing_of_ratios(xs: Sequence[float], ratios: Sequence[SpeedRatio], level: float) -> Crossing:
    """Finds the crossing point of measured ratios, with the interval that follows from theirs.

    Args:
      xs: positive and ascending.
      ratios: measured there.
      level: to come down to.

    Returns:
      the crossing point.
    """
    median, low, high = (
        crossing_point(xs, [getattr(ratio, end) for ratio in ratios], level) for end in ("median", "low", "high")
    )
    return Crossing(median, low, high, xs[0], xs[-1])
