"""Derived gradients: the combined gradient worked out from slots or from the update, where no record shows it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from workloads import optimizers
from workloads.program import Arrays, State


class DerivedGradient(NamedTuple):
    """The combined gradient that an optimizer must have received.

    Attributes:
      combined: {weight: gradient}, float64; empty where the states do not show it.
      noise: relative size of the rounding in them, each a difference of two large numbers.
    """

    combined: Arrays
    noise: float


class _Equation(NamedTuple):
    """One weight's gradient as `(minuend - subtrahend) / divisor`."""

    minuend: np.ndarray
    subtrahend: np.ndarray
    divisor: float


def derive_combined_gradients(
    rule: optimizers.Optimizer | None, before: State, after: State, learning_rate: float | None, eps: float
) -> DerivedGradient:
    """Solves an optimizer's rule for the gradient.

    Args:
      rule: the optimizer, or None if it is not known.
      before, after: states before and after one step.
      learning_rate: of the step, or None.
      eps: machine epsilon of the weights.

    Returns:
      the gradient; empty for rules from which it cannot be worked out, and for states without the rule's slots.
    """
    names = sorted(set(before.weights) & set(after.weights))
    try:
        equations = {name: _equation(rule, before, after, learning_rate, name) for name in names}
    except KeyError:  # a slot is not recorded
        return DerivedGradient({}, 0.0)
    known = {name: equation for name, equation in equations.items() if equation is not None}
    found = {name: (minuend - subtrahend) / divisor for name, (minuend, subtrahend, divisor) in known.items()}
    whole = np.sqrt(sum(np.sum(value**2) for value in found.values()))
    addends = np.sqrt(sum(np.sum((minuend / divisor) ** 2) for minuend, _, divisor in known.values()))
    return DerivedGradient(found, float(4 * eps * addends / whole) if whole else 0.0)


def _equation(
    rule: optimizers.Optimizer | None, before: State, after: State, learning_rate: float | None, name: str
) -> _Equation | None:
    if isinstance(rule, optimizers.Adam):
        return _Equation(_slot(after, name, "m"), rule.beta1 * _slot(before, name, "m"), 1 - rule.beta1)
    if isinstance(rule, optimizers.Momentum):
        return _Equation(_slot(after, name, "momentum"), rule.momentum * _slot(before, name, "momentum"), 1.0)
    if isinstance(rule, optimizers.GradientDescent) and learning_rate:
        old, new = (np.asarray(state.weights[name], np.float64) for state in (before, after))
        return _Equation(old, new, float(learning_rate))
    return None


def _slot(state: State, name: str, slot: str) -> np.ndarray:
    return np.asarray(state.slots[f"{name}/{slot}"], np.float64)
