"""Checks the weights' moving averages: each from its own weight after the step, by the stated decay and warm-up."""

from __future__ import annotations

import numpy as np

from parity.comparison import stages
from parity.comparison.fits import fit_factor, relative_norm
from parity.diagnosis.stage_checks.side_step import SideStep
from parity.diagnosis.stage_checks.tensor_error import TensorError, elements_error
from workloads.workload import MovingAverage

#: Roundings that an element may be off by.
MOST = 2.0


def share_of_step(rule: MovingAverage, step: int) -> float:
    """Returns the part of the new weights that an average takes up in a step: 1 - decay, in float32.

    >>> share_of_step(MovingAverage(0.75, warm_up=False), 0), share_of_step(MovingAverage(0.75), 7) == 0.5
    (0.25, True)
    """
    decay = np.float32(rule.decay)
    if rule.warm_up:
        updates = np.float32(step + 1)
        decay = np.minimum(decay, (np.float32(1) + updates) / (np.float32(10) + updates))
    return float(np.float32(1) - decay)


def check_averages(side: SideStep, rule: MovingAverage, eps: float) -> list[TensorError]:
    """Checks one side's moving averages after a step.

    Args:
      side: the step.
      rule: decay and warm-up.
      eps: machine epsilon of the weights.

    Returns:
      one error for each weight that has an average before and after the step.
    """
    record, before = side.record, side.before
    share, errors = share_of_step(rule, record.step), []
    exact = _exact_share(rule, record.step)  # a float64 port may compute 1 - decay more exactly than legacy
    for name in sorted(set(record.state.averages) & set(before.averages) & set(record.state.weights)):
        old, new = (np.asarray(arrays[name], np.float64) for arrays in (before.averages, record.state.averages))
        weight = np.asarray(record.state.weights[name], np.float64)
        with np.errstate(all="ignore"):
            unit = eps * (np.abs(old) + np.abs(weight)) + np.finfo(np.float32).tiny
            roundings = min(elements_error(new, old + part * (weight - old), unit) for part in (share, exact))
        fact = "" if roundings <= MOST else _average_fact(side, name, share)
        errors.append(TensorError(stages.AVERAGES, name, record.step, roundings, MOST, fact))
    return errors


def _exact_share(rule: MovingAverage, step: int) -> float:
    return 1.0 - (min(rule.decay, (2.0 + step) / (11.0 + step)) if rule.warm_up else rule.decay)


def _average_fact(side: SideStep, name: str, share: float) -> str:
    weights, averages = side.record.state.weights, side.before.averages
    old, new = (np.asarray(a[name], np.float64).ravel() for a in (averages, side.record.state.averages))
    if not np.all(np.isfinite(new)):
        return "values that are not finite"
    if np.array_equal(old, new):
        return "does not change"
    shape = np.shape(weights[name])
    sources = {
        f"the weights {other}" if other != name else "the new weights": weights[other]
        for other in weights
        if np.shape(weights[other]) == shape
    }
    if name in side.before.weights:
        sources["the weights before the step"] = side.before.weights[name]
    fits = {text: fit_factor(np.asarray(value, np.float64).ravel() - old, new - old) for text, value in sources.items()}
    known = {text: fit for text, fit in fits.items() if np.isfinite(fit.residual)}
    if not known:
        return f"changes by {relative_norm(new - old, old):.1e} of its length"
    own = known.get("the new weights")
    best = min(known, key=lambda text: known[text].residual)
    if own is not None and own.residual <= 2 * known[best].residual + 1e-6:
        best = "the new weights"
    fit = known[best]
    return f"takes up {fit.factor:.6g} of {best} (by the rule {share:.6g} of the new ones), residual {fit.residual:.1e}"
