"""Means of a few runs with their 95 % confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

#: Student's t at 97.5 % for 1, 2, ... degrees of freedom.
_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)

#: The largest number of runs that an interval can be computed of.
MOST = len(_T) + 1


class Interval(NamedTuple):
    """A mean and half the width of its 95 % confidence interval."""

    mean: float
    half: float


def confidence_interval(numbers: Sequence[float]) -> Interval:
    """Returns the mean of 2 to `MOST` independent numbers with its 95 % interval, by Student's t."""
    values = np.asarray(numbers, np.float64)
    return Interval(float(values.mean()), float(_T[len(values) - 2] * values.std(ddof=1) / np.sqrt(len(values))))
