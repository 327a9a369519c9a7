"""Means with 95 % intervals of a few runs."""

from __future__ import annotations

import numpy as np

#: Student's t at 97.5 % for 1, 2, ... degrees of freedom.
_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)

MOST = len(_T) + 1


def interval(values):
    """(mean, half the width of its 95 % interval) of 2 to `MOST` independent numbers, by Student's t."""
    values = np.asarray(values, np.float64)
    return float(values.mean()), float(_T[len(values) - 2] * values.std(ddof=1) / np.sqrt(len(values)))
