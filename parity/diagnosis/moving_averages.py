"""How each side's moving averages of the weights moved, from that side's own record."""

from __future__ import annotations

import dataclasses

import numpy as np

from parity.comparison.fits import fit_factor, flatten_arrays


@dataclasses.dataclass(frozen=True)
class AverageMove:
    """One step: `new - old ~ share * (weight - old)`, with the weight after and before the update.

    Attributes:
      step: its number.
      new, old: `FactorFit` with the weight after, and before the update; the factor is the share, 1 - decay.
      moved: whether any average changed at all.
      noise: size of rounding beside the change: a residual below this says nothing.
    """

    step: int
    new: object
    old: object
    moved: bool
    noise: float


def measure_moving_averages(steps):
    """([left's `AverageMove`s], [right's]) of the steps that have averages."""
    left = [(s.left, s.left_before) for s in steps]
    right = [(s.right, s.right_before) for s in steps]
    return tuple([_average(*row, _names(*row)) for row in side if _names(*row)] for side in (left, right))


def _names(record, before):
    """Weights that have an average before and after the step."""
    return sorted(set(record.state.averages) & set(before.averages) & set(before.weights))


def _average(record, before, names):
    old, new = flatten_arrays(before.averages, names), flatten_arrays(record.state.averages, names)
    change = new - old
    eps = max(np.finfo(np.asarray(before.averages[name]).dtype).eps for name in names)
    length = float(np.linalg.norm(change))
    return AverageMove(
        record.step,
        fit_factor(flatten_arrays(record.state.weights, names) - old, change),
        fit_factor(flatten_arrays(before.weights, names) - old, change),
        bool(np.any(change)),
        float(eps * np.linalg.norm(old)) / length if length else float("inf"),
    )
