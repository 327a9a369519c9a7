"""What the optimizer must have got, worked out from its slots or from the update, where no record shows it."""

from __future__ import annotations

import numpy as np

from workloads import optimizers


def derive_combined_gradients(rule, before, after, rate, eps):
    """({weight: gradient}, noise) that the optimizer `rule` got between two `State`s; ({}, 0) if they do not tell.

    Args:
      rate: learning rate of the step, or None.
      eps: machine epsilon of the weights.

    Returns:
      the gradients in float64, and the relative size of the rounding in them: a difference of two large numbers.
    """
    names = sorted(set(before.weights) & set(after.weights))

    def slot(state, name, kind):
        return np.asarray(state.slots[f"{name}/{kind}"], np.float64)

    try:
        if isinstance(rule, optimizers.Adam):
            pairs = {n: (slot(after, n, "m"), rule.beta1 * slot(before, n, "m"), 1 - rule.beta1) for n in names}
        elif isinstance(rule, optimizers.Momentum):
            pairs = {n: (slot(after, n, "momentum"), rule.momentum * slot(before, n, "momentum"), 1.0) for n in names}
        elif isinstance(rule, optimizers.GradientDescent) and rate:
            pairs = {
                n: (np.asarray(before.weights[n], np.float64), np.asarray(after.weights[n], np.float64), float(rate))
                for n in names
            }
        else:
            return {}, 0.0
    except KeyError:
        return {}, 0.0
    found = {name: (new - old) / share for name, (new, old, share) in pairs.items()}
    whole = np.sqrt(sum(np.sum(value**2) for value in found.values()))
    addends = np.sqrt(sum(np.sum((new / share) ** 2) for new, _, share in pairs.values()))
    return found, float(4 * eps * addends / whole) if whole else 0.0
