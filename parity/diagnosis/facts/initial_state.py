"""Initial state: weights, slots, statistics and averages that differ before the first step."""

from __future__ import annotations

import dataclasses

import numpy as np

from parity.comparison.fits import FactorFit, fit_factor
from workloads.program import Arrays, State


@dataclasses.dataclass(frozen=True)
class InitialWeight:
    """An initial weight that differs.

    Attributes:
      name: the weight.
      size: number of its elements.
      fit: factor of the right's value by the left's.
      std_ratio: right / left standard deviation; NaN where all of the left's elements are equal.
    """

    name: str
    size: int
    fit: FactorFit
    std_ratio: float


@dataclasses.dataclass(frozen=True)
class InitialDifferences:
    """Everything that differs between the states before the first step.

    Attributes:
      weights: weights that differ.
      slots: {slot name without its weight: (left value, right value)} where both sides are one constant each.
      reset: slots that are trained values on the left, or any value after step 0, and one constant on the right.
      reset_to: {slot name without its weight: that constant}.
      other: other slots, statistics and averages that differ.
      step: number of the left's step; above 0 if the comparison starts from a checkpoint.
    """

    weights: list[InitialWeight]
    slots: dict[str, tuple[float, float]]
    reset: list[str]
    reset_to: dict[str, float]
    other: list[str]
    step: int


def compare_initial_states(left: State, right: State) -> InitialDifferences:
    """Returns the differences of two states in the variables that both have."""
    found = InitialDifferences([], {}, [], {}, [], left.step)
    for name in _differing(left.weights, right.weights):
        found.weights.append(_compare_weight(name, left.weights[name], right.weights[name]))
    for name in _differing(left.slots, right.slots):
        _sort_slot(found, name, left.slots[name], right.slots[name])
    found.other.extend(_differing(left.statistics, right.statistics))
    found.other.extend(_differing(left.averages, right.averages))
    return found


def _differing(left: Arrays, right: Arrays) -> list[str]:
    return [name for name, value in left.items() if name in right and not np.array_equal(value, right[name])]


def _compare_weight(name: str, left: np.ndarray, right: np.ndarray) -> InitialWeight:
    left, right = (np.asarray(value, np.float64).ravel() for value in (left, right))
    deviation = float(np.std(left))
    ratio = float(np.std(right)) / deviation if deviation else float("nan")
    return InitialWeight(name, left.size, fit_factor(left, right), ratio)


def _sort_slot(found: InitialDifferences, name: str, left: np.ndarray, right: np.ndarray) -> None:
    """Adds a slot that differs to the attribute of `found` that describes the difference."""
    left_value, right_value = _constant(left), _constant(right)
    kind = name.rsplit("/", 1)[-1]
    if right_value is not None and (left_value is None or found.step > 0):
        found.reset.append(name)
        found.reset_to[kind] = right_value
    elif left_value is not None and right_value is not None:
        found.slots[kind] = (left_value, right_value)
    else:
        found.other.append(name)


def _constant(array: np.ndarray) -> float | None:
    """The one value that all elements have, or None."""
    array = np.asarray(array)
    return float(array.flat[0]) if array.size and np.all(array == array.flat[0]) else None
