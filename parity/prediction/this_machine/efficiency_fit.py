"""Efficiencies of the CPU's kernels from ops that were run by themselves: time against work, a line for each type."""

from __future__ import annotations

import collections
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from parity.prediction.machines.machine import OTHER_KINDS, Efficiency
from parity.profiling.op_kinds import PRODUCTS, kind_of_op

#: Least slope of a line: kernels whose time does not depend on their work would have an infinite efficiency.
LEAST_SLOPE = 1e-3

#: Dispatches that a kernel's setup takes at least, so that it stands out from the noise of a dispatch.
LEAST_SETUP = 10


class MeasuredOp(NamedTuple):
    """An op that was run by itself.

    Attributes:
      op: its type.
      ideal: seconds at the peak, on all lanes.
      alone: seconds measured, without its dispatch.
      together: the same where a copy of it runs on each lane, divided by their number.
    """

    op: str
    ideal: float
    alone: float
    together: float


class Line(NamedTuple):
    """Seconds of kernels against their seconds at the peak.

    Attributes:
      constant: seconds that a kernel takes whatever its work: its setup, and what it does with threads.
      slope: seconds for each ideal second.
    """

    constant: float
    slope: float


def fitted_line(ideal: Sequence[float], seconds: Sequence[float], least: float) -> Line:
    """Returns the median line of kernels, or a line through the origin where its constant is within the noise.

    Its slope is the median of the slopes between two kernels (Theil and Sen), so that one that was disturbed while it
    was measured counts for little; through the origin it is that of least squares. Kernels of one amount of work show
    no constant.

    Args:
      ideal: seconds at the peak of each kernel, above 0.
      seconds: measured ones.
      least: seconds of the least constant.

    Returns:
      the line; neither number is negative.
    """
    x, y = np.asarray(ideal), np.asarray(seconds)
    first, second = np.triu_indices(len(x), 1)
    apart = x[first] != x[second]
    if apart.any():
        slopes = (y[first] - y[second])[apart] / (x[first] - x[second])[apart]
        slope = max(float(np.median(slopes)), LEAST_SLOPE)
        constant = float(np.median(y - slope * x))
        if constant >= least:
            return Line(constant, slope)
    return Line(0.0, float((x * y).sum() / np.square(x).sum()))


def efficiencies(measured: Iterable[MeasuredOp], lanes: int, dispatch: float) -> dict[str, Efficiency]:
    """Returns the efficiency of the types and kinds of op that were measured.

    A type without a measurement gets its kind's, and a kind without one that of all ops but products, without a setup:
    those of other kinds say nothing of its own.

    Args:
      measured: the ops.
      lanes: of the processor.
      dispatch: seconds of dispatching an op.

    Returns:
      {type of op, kind of op, or `OTHER_KINDS`: share of the peak, setup, and speed on all lanes over that on one}.
    """
    of_name: dict[str, list[MeasuredOp]] = collections.defaultdict(list)
    for one in measured:
        kind = kind_of_op(one.op)
        for name in {one.op, kind, *([] if kind == PRODUCTS else [OTHER_KINDS])}:
            of_name[name].append(one)
    found = {}
    for name, ops in of_name.items():
        least = math.inf if name == OTHER_KINDS else LEAST_SETUP * dispatch
        line = fitted_line([one.ideal for one in ops], [one.together for one in ops], least)
        alone, together = (sum(getattr(one, field) for one in ops) for field in ("alone", "together"))
        speedup = min(max(lanes * together / alone, 1.0), float(lanes))
        share = 1 / line.slope
        found[name] = Efficiency(share, share, speedup=speedup, setup=lanes * line.constant)
    return found
