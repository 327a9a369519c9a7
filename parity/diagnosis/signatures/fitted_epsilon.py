"""The epsilon, and its place in the update, that explain one side's updates: fitted, whatever its value."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from parity.diagnosis.evidence import Evidence, measured_once
from parity.diagnosis.stage_checks.measured_change import MeasuredChange, measure_change
from parity.diagnosis.stage_checks.observed_updates import observe_updates
from workloads.optimizers import ObservedUpdate, Optimizer
from workloads.optimizers.update_forms import EpsilonPlace

#: Epsilons to try first, four a decade, and the number of times that the interval around the best is divided.
GRID = tuple(float(value) for value in np.logspace(-16, 1, 69))
DIVISIONS = 30

#: Part of a fitted epsilon that is tried, too, to see whether the updates show its value or only a bound.
MUCH_SMALLER = 1e-3

#: Elements of the update that are looked at; more say nothing new of one number.
MOST_ELEMENTS = 5000


class FittedEpsilon(NamedTuple):
    """The epsilon that explains the updates best.

    Attributes:
      place: its place in the formula, "" for that of 1.x.
      epsilon: its value.
      misfit: root mean square of the errors that are left, in roundings; the worst step's.
    """

    place: str
    epsilon: float
    misfit: float


@measured_once
def fit_port_epsilon(evidence: Evidence) -> FittedEpsilon | None:
    """Returns the epsilon that explains the right's updates best; None for an optimizer without one."""
    optimizer = evidence.context.optimizer
    return None if optimizer is None else fit_epsilon(_port_updates(evidence), optimizer, evidence.eps)


def _port_updates(evidence: Evidence) -> list[ObservedUpdate]:
    rows = [(step.right, step.right_before) for step in evidence.steps]
    return observe_updates(rows, evidence.context.optimizer) if evidence.context.optimizer is not None else []


def smaller_fits_too(evidence: Evidence, fit: FittedEpsilon, most: float) -> bool:
    """Returns whether a much smaller epsilon than the fitted one, in its place, explains the port's updates too.

    Where all gradients are far larger than an epsilon, its value leaves no trace.

    Args:
      evidence: of the port.
      fit: the epsilon.
      most: misfit up to which one explains the updates.

    Returns:
      the answer.
    """
    optimizer = evidence.context.optimizer
    if optimizer is None:
        return False
    misfit = misfit_of_smaller(_port_updates(evidence), optimizer, fit, evidence.eps)
    return misfit <= max(most, 2 * fit.misfit)


def misfit_of_smaller(updates: Sequence[ObservedUpdate], optimizer: Optimizer, fit: FittedEpsilon, eps: float) -> float:
    """Measures how well a much smaller epsilon than the fitted one, in its place, explains the updates.

    Args:
      updates: one side's steps.
      optimizer: says the places.
      fit: the epsilon.
      eps: machine epsilon of the weights.

    Returns:
      the misfit, in roundings; infinity without updates or where the optimizer does not know the place.
    """
    places = [place for place in optimizer.epsilon_places() if place.name == fit.place]
    if not places or not updates:
        return float("inf")
    samples = [_sample(EpsilonSample(update, measure_change(update, optimizer, eps))) for update in updates]
    with np.errstate(all="ignore"):
        return misfit_of_epsilon(samples, places[0], fit.epsilon * MUCH_SMALLER)


class EpsilonSample(NamedTuple):
    """Elements of one step that epsilons are tried on.

    Attributes:
      update: the step.
      change: of its weights, as it was measured.
    """

    update: ObservedUpdate
    change: MeasuredChange


def fit_epsilon(updates: Sequence[ObservedUpdate], optimizer: Optimizer, eps: float) -> FittedEpsilon | None:
    """Fits the epsilon in each of its places.

    Args:
      updates: one side's steps.
      optimizer: says the places.
      eps: machine epsilon of the weights.

    Returns:
      the best fit, the optimizer's own place first among equals; None if no place gives a finite misfit.
    """
    samples = [_sample(EpsilonSample(update, measure_change(update, optimizer, eps))) for update in updates]
    fits = [_fit_place(samples, place) for place in optimizer.epsilon_places()] if samples else []
    return min((fit for fit in fits if np.isfinite(fit.misfit)), key=lambda fit: fit.misfit, default=None)


def misfit_of_epsilon(samples: Sequence[EpsilonSample], place: EpsilonPlace, epsilon: float) -> float:
    """Measures how well one epsilon explains the updates, in roundings.

    Args:
      samples: one side's steps.
      place: of the epsilon.
      epsilon: its value.

    Returns:
      the misfit of the worst step; infinity where a step lacks what the formula reads.
    """
    worst = 0.0
    for update, measured in samples:
        change = place.formula(update, epsilon)
        worst = max(worst, float("inf") if change is None else measured.misfit(change))
    return worst


def _fit_place(samples: Sequence[EpsilonSample], place: EpsilonPlace) -> FittedEpsilon:
    def misfit(epsilon: float) -> float:
        with np.errstate(all="ignore"):
            return misfit_of_epsilon(samples, place, epsilon)

    found = [misfit(epsilon) for epsilon in GRID]
    best = int(np.argmin(found))
    low, high = GRID[max(0, best - 1)], GRID[min(len(GRID) - 1, best + 1)]
    epsilon = _minimum(misfit, low, high)
    tried = {GRID[best]: found[best], epsilon: misfit(epsilon)}
    epsilon = min(tried, key=lambda value: tried[value])
    return FittedEpsilon(place.name, epsilon, tried[epsilon])


def _minimum(function: Callable[[float], float], low: float, high: float) -> float:
    """The minimum of a function with one valley between two numbers, by golden sections of their logarithms."""
    ratio = (np.sqrt(5.0) - 1) / 2
    a, b = np.log(low), np.log(high)
    for _ in range(DIVISIONS):
        left, right = b - ratio * (b - a), a + ratio * (b - a)
        if function(float(np.exp(left))) <= function(float(np.exp(right))):
            b = right
        else:
            a = left
    return float(np.exp((a + b) / 2))


def _sample(sample: EpsilonSample) -> EpsilonSample:
    """The same step with evenly chosen elements of its vectors."""
    update, change = sample
    if update.weights.size <= MOST_ELEMENTS:
        return sample
    chosen = slice(None, None, -(-update.weights.size // MOST_ELEMENTS))
    elements = dataclasses.replace(
        update,
        gradient=update.gradient[chosen],
        weights=update.weights[chosen],
        change=update.change[chosen],
        old={slot: value[chosen] for slot, value in update.old.items()},
        new={slot: value[chosen] for slot, value in update.new.items()},
        previous=None,
        _history={},
    )
    return EpsilonSample(elements, MeasuredChange(change.values[chosen], change.unit[chosen]))
