"""How one replica's gradients on the right come from the left's, and what regularization adds to them."""

from __future__ import annotations

import dataclasses
from typing import Dict

import numpy as np

from parity.comparison.fits import FactorFit, fit_factor, flatten_arrays, relative_norm


@dataclasses.dataclass(frozen=True)
class ReplicaGradient:
    """One replica in one step that both sides took from the same state.

    Attributes:
      step, replica: where.
      fit: `FactorFit` of all its gradients by the left's.
      data: factor of the left's gradients when every weight may also add a multiple of itself.
      decay: {weight: multiple of it that the right adds beyond `data` times the left's gradient}.
      residual: what that leaves over.
      tensors: {weight: `FactorFit`}.
      loss: right loss / left loss; not-a-number if either is missing.
      loss_finite: (left, right).
    """

    step: int
    replica: int
    fit: FactorFit
    data: float
    decay: Dict[str, float]
    residual: float
    tensors: Dict[str, FactorFit]
    loss: float
    loss_finite: tuple


def fit_replica_gradients(steps, clean):
    """[`ReplicaGradient`] of steps from the same state; a fit with a residual below `clean` needs no second term."""
    return [
        _measure(step, replica, step.left.gradients[replica], step.right.gradients[replica], clean)
        for step in steps
        if len(step.left.gradients) == len(step.right.gradients)
        for replica in range(len(step.left.gradients))
    ]


def fit_factor_and_decay(left, right, weights, names):
    """Fits `right ~ data * left + decay[name] * weight[name]` over all weights together.

    What a weight explains is taken out of both gradients first (Frisch and Waugh 1933), so the one factor and the
    many multiples come out of small fits.

    Returns:
      (data factor, {name: multiple}, residual).
    """
    power = cross = 0.0
    parts = {}
    for name in names:
        a, b, w = (np.asarray(arrays[name], np.float64).ravel() for arrays in (left, right, weights))
        size = float(w @ w)
        parts[name] = (a, b, w, size)
        if size:
            a, b = a - w * (w @ a) / size, b - w * (w @ b) / size
        power, cross = power + float(a @ a), cross + float(a @ b)
    data = cross / power if power else float("nan")
    decay = {name: float(w @ (b - data * a)) / size if size else 0.0 for name, (a, b, w, size) in parts.items()}
    gap = np.concatenate([b - data * a - decay[name] * w for name, (a, b, w, _) in parts.items()])
    return data, decay, relative_norm(gap, np.concatenate([b for _, b, _, _ in parts.values()]))


def _measure(step, replica, left, right, clean):
    names = [name for name in sorted(left) if name in right and np.shape(left[name]) == np.shape(right[name])]
    weights = step.left_before.weights
    fit = fit_factor(flatten_arrays(left, names), flatten_arrays(right, names))
    if fit.residual <= clean or not np.isfinite(fit.residual):
        data, decay, residual = fit.factor, {}, fit.residual
    else:
        data, decay, residual = fit_factor_and_decay(
            left, right, weights, [n for n in names if np.shape(left[n]) == np.shape(weights[n])]
        )
    tensors = {name: fit_factor(flatten_arrays(left, [name]), flatten_arrays(right, [name])) for name in names}
    losses = [record.losses[replica] if replica < len(record.losses) else np.nan for record in (step.left, step.right)]
    ratio = float(losses[1]) / float(losses[0]) if float(losses[0]) else float("nan")
    finite = tuple(bool(np.isfinite(loss)) for loss in losses)
    return ReplicaGradient(step.left.step, replica, fit, data, decay, residual, tensors, ratio, finite)
