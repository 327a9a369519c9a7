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
        differences = {name: _difference(rule, before, after, learning_rate, name) for name in names}
    except KeyError:  # a slot is not recorded
        return DerivedGradient({}, 0.0)
    known = {name: difference for name, difference in differences.items() if difference is not None}
    found = {name: (new - old) / share for name, (new, old, share) in known.items()}
    whole = np.sqrt(sum(np.sum(value**2) for value in found.values()))
    addends = np.sqrt(sum(np.sum((new / share) ** 2) for new, _, share in known.values()))
    return DerivedGradient(found, float(4 * eps * addends / whole) if whole else 0.0)


def _difference(
    rule: optimizers.Optimizer | None, before: State, after: State, learning_rate: float | None, name: str
) -> optimizers.GradientDifference | None:
    if rule is None:
        return None
    return rule.gradient_difference(_values(rule, before, name), _values(rule, after, name), learning_rate)


def _values(rule: optimizers.Optimizer, state: State, name: str) -> Arrays:
    """Returns one weight and its recorded slots as `Optimizer.gradient_difference` expects them."""
    keys = {slot: f"{name}/{slot}" for slot in rule.slots()}
    slots = {slot: np.asarray(state.slots[key], np.float64) for slot, key in keys.items() if key in state.slots}
    return {"weight": np.asarray(state.weights[name], np.float64), **slots}
