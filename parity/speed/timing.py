"""Interleaved timing of two programs, and what can be said from it.

The machine's speed drifts, so sides are timed in blocks A B B A and only ratios of neighbouring blocks count.
"""

from __future__ import annotations

import dataclasses
import time
from typing import List

import numpy as np

MARGIN = 0.05
RESAMPLES = 4000


@dataclasses.dataclass
class Blocks:
    """Times of neighbouring blocks: `left[i]` and `right[i]` are seconds for `steps` steps each."""

    steps: int
    left: List[float] = dataclasses.field(default_factory=list)
    right: List[float] = dataclasses.field(default_factory=list)


def interleave(left, right, steps, blocks, more=None, progress=None):
    """Times blocks of `steps` steps, A B B A; each ends with the last loss read to the host.

    Args:
      left, right: `Program`s, warmed up.
      blocks: how many blocks a side, at least.
      more: asked with the `Blocks` so far after that many; while it answers true, two more a side are taken.
      progress: called with blocks done a side.

    Returns:
      `Blocks`.
    """
    taken = Blocks(steps)
    while len(taken.left) < blocks or (more is not None and more(taken)):
        for first, second in ((left, right), (right, left)):
            times = {first: _block(first, steps), second: _block(second, steps)}
            taken.left.append(times[left])
            taken.right.append(times[right])
        if progress is not None:
            progress(len(taken.left))
    return taken


def _block(program, steps):
    start = time.perf_counter()
    program.run(steps)  # ends with the last loss on the host, so the devices are idle
    return time.perf_counter() - start


def block_steps(programs, multiple, seconds):
    """Steps for a block of about `seconds` on the slower program: a multiple of `multiple`."""
    slowest = max(_block(program, multiple) for program in programs) / multiple
    return max(1, round(seconds / slowest / multiple)) * multiple


@dataclasses.dataclass(frozen=True)
class Ratio:
    """Speed of right over left, higher meaning right is faster: the median ratio of the A B B A groups, its
    bootstrap 95 % interval, and groups whose ratio is an outlier (modified z above 3.5); none is removed."""

    median: float
    low: float
    high: float
    outliers: int


def ratio(blocks, seed=0):
    """The `Ratio` of `Blocks`; percentile bootstrap over groups A B B A, in which a steady drift cancels."""
    left, right = (np.reshape(side, (-1, 2)).sum(axis=1) for side in (blocks.left, blocks.right))
    ratios = left / right
    rng = np.random.RandomState(seed)
    medians = np.median(rng.choice(ratios, (RESAMPLES, len(ratios))), axis=1)
    low, high = np.percentile(medians, [2.5, 97.5])
    median = float(np.median(ratios))
    spread = mad(ratios)
    outliers = int((np.abs(ratios - median) > 3.5 * spread).sum()) if spread else 0
    return Ratio(median, float(low), float(high), outliers)


def mad(values):
    """Median absolute deviation, times 1.4826: a normal distribution's standard deviation."""
    values = np.asarray(values)
    return float(1.4826 * np.median(np.abs(values - np.median(values))))


def verdict(seen, margin=MARGIN):
    """ "faster", "within 5 %", "slower", or "undecided" where the interval straddles the margin."""
    if seen.low > 1 + margin:
        return "faster"
    if seen.high < 1 - margin:
        return "slower"
    if seen.low >= 1 - margin and seen.high <= 1 + margin:
        return f"within {margin * 100:.0f} %"
    return "undecided"
