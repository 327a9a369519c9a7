"""Ratio of two programs' speeds from interleaved block times: median, bootstrap interval, outliers and verdict."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

#: Relative difference of speed that counts as none.
MARGIN = 0.05

#: Bootstrap samples of the interval.
RESAMPLES = 4000

#: Deviations from the median beyond which a ratio is an outlier: the usual limit of the modified z-score.
OUTLIER_DEVIATIONS = 3.5

UNDECIDED = "undecided"


@dataclasses.dataclass(frozen=True)
class SpeedRatio:
    """Speed of the right program over the left one's; above 1, the right one is faster.

    Attributes:
      median: median ratio of the groups of two rounds.
      low: lower end of its 95 % bootstrap interval.
      high: upper end of that interval.
      outliers: number of groups whose ratio is an outlier; they are counted, not removed.
    """

    median: float
    low: float
    high: float
    outliers: int


def speed_ratio(left: Sequence[float], right: Sequence[float], seed: int = 0) -> SpeedRatio:
    """Returns the `SpeedRatio` of two programs that were timed in the same rounds, by a percentile bootstrap.

    A group is two rounds of opposite order. Within it a steady drift of the machine's speed cancels, so only ratios
    within a group count.

    Args:
      left, right: each program's seconds, for the same number of examples in every block; an even number of blocks.
      seed: of the bootstrap.

    Returns:
      the ratio of the right program's speed to the left one's.
    """
    left_groups, right_groups = (np.reshape(side, (-1, 2)).sum(axis=1) for side in (left, right))
    ratios = left_groups / right_groups
    rng = np.random.RandomState(seed)
    medians = np.median(rng.choice(ratios, (RESAMPLES, len(ratios))), axis=1)
    low, high = np.percentile(medians, [2.5, 97.5])
    median = float(np.median(ratios))
    spread = scaled_mad(ratios)
    outliers = int((np.abs(ratios - median) > OUTLIER_DEVIATIONS * spread).sum()) if spread else 0
    return SpeedRatio(median, float(low), float(high), outliers)


def ratio_json(ratio: SpeedRatio | None) -> dict[str, Any] | None:
    """Returns a ratio for `--json`; None where there is none."""
    return None if ratio is None else dataclasses.asdict(ratio)


def ratio_from_json(entry: Mapping[str, Any] | None) -> SpeedRatio | None:
    """Returns the ratio of which `ratio_json` made an entry."""
    return None if entry is None else SpeedRatio(**entry)


def ratio_text(ratio: SpeedRatio | None, digits: int = 2) -> str:
    """Returns a ratio with its interval as reports print it, with so many digits after the point; "-" for None.

    >>> ratio_text(SpeedRatio(1.25, 1.125, 1.5, 0)), ratio_text(None)
    ('1.25 [1.12, 1.50]', '-')
    """
    return "-" if ratio is None else f"{ratio.median:.{digits}f} {interval_text(ratio, digits)}"


def interval_text(ratio: SpeedRatio, digits: int = 2) -> str:
    """Returns the interval alone: "[1.12, 1.50]"."""
    return f"[{ratio.low:.{digits}f}, {ratio.high:.{digits}f}]"


def scaled_mad(values: npt.ArrayLike) -> float:
    """Returns the median absolute deviation times 1.4826, which is a normal distribution's standard deviation."""
    array = np.asarray(values)
    return float(1.4826 * np.median(np.abs(array - np.median(array))))


def speed_verdict(ratio: SpeedRatio, margin: float = MARGIN) -> str:
    """Returns "faster", "within 5 %" or "slower", or `UNDECIDED` where the interval straddles the margin."""
    if ratio.low > 1 + margin:
        return "faster"
    if ratio.high < 1 - margin:
        return "slower"
    if ratio.low >= 1 - margin and ratio.high <= 1 + margin:
        return f"within {margin * 100:.0f} %"
    return UNDECIDED
