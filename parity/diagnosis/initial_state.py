"""The states before the first step: weights by their fit and their spread, slots by what they start from."""

from __future__ import annotations

import dataclasses
from typing import Dict, List, Optional

import numpy as np

from parity.comparison.fits import FactorFit, fit_factor


@dataclasses.dataclass(frozen=True)
class InitialWeight:
    """An initial weight that differs: its fit by the left's, and the ratio of the two standard deviations."""

    name: str
    size: int
    fit: FactorFit
    std_ratio: float


@dataclasses.dataclass(frozen=True)
class InitialDifferences:
    """Attributes:
    weights: those that differ.
    slots: {slot name without its weight: (left value, right value)} where both sides are one constant, and differ.
    reset: slots that are many values on the left and one constant on the right; `reset_to` are those constants.
    other: other slots, statistics and averages that differ.
    step: the left's.
    """

    weights: List[InitialWeight]
    slots: Dict[str, tuple]
    reset: List[str]
    reset_to: Dict[str, float]
    other: List[str]
    step: int


def compare_initial_states(left, right):
    """`InitialDifferences` of two `State`s."""
    weights = [
        _weight(name, value, right.weights[name])
        for name, value in left.weights.items()
        if name in right.weights and not np.array_equal(value, right.weights[name])
    ]
    slots, reset, reset_to, other = {}, [], {}, []
    for name, value in left.slots.items():
        if name not in right.slots or np.array_equal(value, right.slots[name]):
            continue
        mine, yours = _constant(value), _constant(right.slots[name])
        kind = name.rsplit("/", 1)[-1]
        if yours is not None and (mine is None or left.step > 0):
            reset.append(name)
            reset_to[kind] = yours
        elif mine is not None and yours is not None:
            slots[kind] = (mine, yours)
        else:
            other.append(name)
    for kind in ("statistics", "averages"):
        one, two = getattr(left, kind), getattr(right, kind)
        other += [name for name in one if name in two and not np.array_equal(one[name], two[name])]
    return InitialDifferences(weights, slots, reset, reset_to, other, left.step)


def _weight(name, left, right):
    left, right = (np.asarray(value, np.float64).ravel() for value in (left, right))
    spread = float(np.std(left))
    return InitialWeight(
        name, left.size, fit_factor(left, right), float(np.std(right)) / spread if spread else float("nan")
    )


def _constant(array) -> Optional[float]:
    """The one value that all elements have, or None."""
    array = np.asarray(array)
    return float(array.flat[0]) if array.size and np.all(array == array.flat[0]) else None
