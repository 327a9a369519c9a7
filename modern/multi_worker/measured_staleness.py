"""The staleness of parameter servers' updates, which is measured there and not chosen."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Mapping
from typing import SupportsInt

from workloads.support.wording import counted


def count_staleness(measured: Iterable[SupportsInt]) -> collections.Counter[int]:
    """Counts updates by their staleness: how many others' updates came between reading and writing.

    A value below zero, which nothing locked may show, counts as none.

    >>> count_staleness([0, 2, 0, -1])
    Counter({0: 3, 2: 1})
    """
    return collections.Counter(max(0, int(late)) for late in measured)


def mean_staleness(counts: Mapping[int, int]) -> float:
    """Returns the mean over updates of {staleness: updates}; 0 where there are no updates.

    >>> mean_staleness({0: 3, 2: 1})
    0.5
    """
    return sum(late * count for late, count in counts.items()) / max(1, sum(counts.values()))


def describe_staleness(counts: Mapping[int, int]) -> str:
    """Formats {staleness: updates} as one line: how many updates, their mean staleness and each one's share.

    >>> describe_staleness({0: 3, 2: 1})[-29:]
    'mean 0.50; 0: 75.0%, 2: 25.0%'
    """
    total = sum(counts.values())
    shares = ", ".join(f"{late}: {counts[late] / total:.1%}" for late in sorted(counts))
    mean = mean_staleness(counts)
    updates = counted(total, "update")
    return f"staleness of {updates} (others' updates between reading and writing): mean {mean:.2f}; {shares}"
