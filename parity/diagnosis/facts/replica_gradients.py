"""Replica gradients: each replica's gradient on the right, fitted by the left's and by the weights.

A gradient differs by a factor where the loss is scaled otherwise, and by a multiple of the weight where it is
regularized otherwise.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from parity.comparison.fits import FactorFit, fit_factor, flatten_arrays, relative_norm
from parity.diagnosis.steps.compared_step import ComparedStep
from workloads.program import Arrays, StepRecord


class DataAndDecayFit(NamedTuple):
    """Fit `right ~ data * left + decay[name] * weight[name]` over all weights together.

    Attributes:
      data: factor of the left's gradients; NaN where they are nothing but multiples of the weights.
      decay: {weight: multiple of it}.
      residual: part of the right's length that is left over.
    """

    data: float
    decay: dict[str, float]
    residual: float


@dataclasses.dataclass(frozen=True)
class ReplicaGradient:
    """One replica's gradients in one step that both sides took from the same state.

    Attributes:
      step, replica: their numbers.
      fit: factor of all its gradients by the left's.
      data: factor of the left's gradients when every weight may also add a multiple of itself.
      decay: {weight: multiple of it that the right adds beyond `data` times the left's gradient}; empty where one
        factor explains the gradients.
      residual: part that `data` and `decay` leave over.
      tensors: {weight: factor of its gradient alone}.
      loss: right loss / left loss; NaN if either is missing or the left's is zero.
      loss_finite: (left, right) whether the loss is finite; false for a missing one.
    """

    step: int
    replica: int
    fit: FactorFit
    data: float
    decay: dict[str, float]
    residual: float
    tensors: dict[str, FactorFit]
    loss: float
    loss_finite: tuple[bool, bool]


def fit_replica_gradients(steps: Sequence[ComparedStep], clean_residual: float) -> list[ReplicaGradient]:
    """Returns the fits of all replicas in steps from the same state in which both sides show as many gradients.

    Args:
      steps: steps that both sides took from the same state.
      clean_residual: one factor with a residual up to this needs no multiples of the weights.

    Returns:
      one entry for each step and replica, in order.
    """
    return [
        _fit_replica(step, replica, clean_residual)
        for step in steps
        if len(step.left.gradients) == len(step.right.gradients)
        for replica in range(len(step.left.gradients))
    ]


def fit_factor_and_decay(left: Arrays, right: Arrays, weights: Arrays, names: Sequence[str]) -> DataAndDecayFit:
    """Fits one factor for all gradients and one multiple for each weight.

    The weight's direction is taken out of both gradients first (Frisch and Waugh 1933), so that the one factor and
    the many multiples come out of small fits.

    Args:
      left: {weight: gradient} that explains.
      right: {weight: gradient} to explain.
      weights: {weight: value} before the step.
      names: weights to fit; each has one shape in all three.

    Returns:
      the fit.
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
    return DataAndDecayFit(data, decay, relative_norm(gap, np.concatenate([b for _, b, _, _ in parts.values()])))


def _fit_replica(step: ComparedStep, replica: int, clean_residual: float) -> ReplicaGradient:
    left, right, weights = step.left.gradients[replica], step.right.gradients[replica], step.left_before.weights
    names = [name for name in sorted(left) if name in right and np.shape(left[name]) == np.shape(right[name])]
    fit = fit_factor(flatten_arrays(left, names), flatten_arrays(right, names))
    # An update that accumulates gradients has no weight of the gradients' names.
    dense = [name for name in names if name in weights and np.shape(left[name]) == np.shape(weights[name])]
    if fit.residual <= clean_residual or not np.isfinite(fit.residual) or not dense:
        parts = DataAndDecayFit(fit.factor, {}, fit.residual)
    else:
        parts = fit_factor_and_decay(left, right, weights, dense)
    left_loss, right_loss = _loss(step.left, replica), _loss(step.right, replica)
    return ReplicaGradient(
        step=step.left.step,
        replica=replica,
        fit=fit,
        data=parts.data,
        decay=parts.decay,
        residual=parts.residual,
        tensors={name: fit_factor(flatten_arrays(left, [name]), flatten_arrays(right, [name])) for name in names},
        loss=right_loss / left_loss if left_loss else float("nan"),
        loss_finite=(bool(np.isfinite(left_loss)), bool(np.isfinite(right_loss))),
    )


def _loss(record: StepRecord, replica: int) -> float:
    return float(record.losses[replica]) if replica < len(record.losses) else float("nan")
