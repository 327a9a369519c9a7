"""How each side changed its weights and slots, explained from its own gradient, slots and rate by known rules."""

from __future__ import annotations

import dataclasses
from typing import Dict, List, NamedTuple

import numpy as np

from parity.comparison.fits import FactorFit, fit_combination, fit_factor, flatten_arrays, relative_norm
from parity.diagnosis.learning_rates import learning_rate_of
from workloads.optimizers import ObservedUpdate, UpdateForm


@dataclasses.dataclass(frozen=True)
class SlotFit:
    """One slot in one step: `new ~ keep * old + gain * gradient` (`gradient**2` for second moments).

    `old_size` and `gain_size` tell how much each term weighs, from 0 to 1: what weighs nothing is not known.
    """

    step: int
    keep: float
    gain: float
    residual: float
    old_size: float
    gain_size: float


class DecayFit(NamedTuple):
    """Fit `change ~ a * predicted + multiple * weight`; `share` is how much of |change| the second term is."""

    multiple: float
    share: float
    residual: float


class WrongRows(NamedTuple):
    """Parts, 0 to 1, of the rows with and of the rows without a gradient that the rule does not explain."""

    touched: float
    untouched: float


@dataclasses.dataclass(frozen=True)
class Update:
    """One step of one side.

    Attributes:
      step, rate: its number and learning rate.
      forms: {`UpdateForm` of the rule, its own first: misfit}; 1 is what rounding makes, see `update_misfit`.
      factor: `FactorFit` of the change by what the side's own rule predicts.
      decay: fit of the change by the predicted change and the weight.
      still: weights that did not move though the rule says that they should have.
      rows: {weight: parts of its rows, touched and untouched by the gradient, that the rule does not explain}, of
        matrices in which some rows have no gradient at all.
      wrong: weights with elements, or slots, that the rule does not explain.
    """

    step: int
    rate: float
    forms: Dict[UpdateForm, float]
    factor: FactorFit
    decay: DecayFit
    still: List[str]
    rows: Dict[str, WrongRows]
    wrong: List[str]


@dataclasses.dataclass(frozen=True)
class Updates:
    """Attributes:
    steps: `Update`s, one a step.
    slots: {slot: [`SlotFit`]}, one a step.
    """

    steps: List[Update]
    slots: Dict[str, List[SlotFit]]

    @property
    def own_form(self):
        """The rule's own `UpdateForm`."""
        return next(iter(self.steps[0].forms))

    def explained_by(self, form, most=20.0):
        """Whether an `UpdateForm` explains every step."""
        return bool(self.steps) and all(step.forms.get(form, np.inf) <= most for step in self.steps)

    def misfit(self, form):
        """The worst misfit of an `UpdateForm` over the steps."""
        return max((step.forms.get(form, np.inf) for step in self.steps), default=float("inf"))


def fit_updates(evidence):
    """(left, right) `Updates`; None for a side, or a rule, that cannot be followed."""
    rule = evidence.context.optimizer
    if rule is None or not rule.update_forms():
        return None, None
    return tuple(_side(evidence, side, rule) for side in (0, 1))


def update_misfit(expected, change, weights, eps):
    """Root mean square of the elements' errors, each in units of its own rounding: about 1 if `expected` is right.

    Args:
      expected, change, weights: float64 vectors.
      eps: machine epsilon.
    """
    unit = eps * (np.abs(weights) + 8 * np.abs(change)) + np.finfo(np.float64).tiny
    return float(np.sqrt(np.mean(((change - expected) / unit) ** 2))) if change.size else 0.0


def _side(evidence, side, rule):
    steps, fits = [], {}
    for step in evidence.steps:
        record = (step.left, step.right)[side]
        before = (step.left_before, step.right_before)[side]
        taken = _taken(record, before, rule)
        if taken is None:
            continue
        steps.append(_update(taken, rule, evidence.eps))
        for slot, slot_rule in rule.slot_rules().items():
            fits.setdefault(slot, []).append(_slot_fit(taken, slot, slot_rule))
    return Updates(steps, fits) if steps else None


def _taken(record, before, rule):
    """`ObservedUpdate`, or None if the record lacks what the rule reads."""
    names = [n for n in sorted(record.combined) if n in before.weights and n in record.state.weights]
    needed = [f"{name}/{slot}" for name in names for slot in rule.slots()]
    shown = all(key in before.slots and key in record.state.slots for key in needed)
    if not names or not shown or learning_rate_of(record) is None:
        return None
    if not np.all(np.isfinite(flatten_arrays(record.combined, names))):
        return None
    slots = [
        {slot: flatten_arrays(state.slots, [f"{name}/{slot}" for name in names]) for slot in rule.slots()}
        for state in (before, record.state)
    ]
    powers = [float(before.slots[name]) for name in rule.accumulators() if name in before.slots]
    weights = flatten_arrays(before.weights, names)
    return ObservedUpdate(
        step=record.step,
        learning_rate=learning_rate_of(record),
        names=names,
        sizes=[np.size(before.weights[name]) for name in names],
        shapes=[np.shape(before.weights[name]) for name in names],
        gradient=flatten_arrays(record.combined, names),
        weights=weights,
        change=flatten_arrays(record.state.weights, names) - weights,
        old=slots[0],
        new=slots[1],
        powers=powers,
    )


def _update(taken, rule, eps):
    predicted = {name: formula(taken) for name, formula in rule.update_forms().items()}
    predicted = {name: value for name, value in predicted.items() if value is not None}
    own = next(iter(predicted.values()))
    factor = fit_factor(own, taken.change)
    both = fit_combination([own, taken.weights], taken.change)
    share = relative_norm(both.coefficients[1] * taken.weights, taken.change)
    return Update(
        taken.step,
        taken.learning_rate,
        {name: update_misfit(value, taken.change, taken.weights, eps) for name, value in predicted.items()},
        factor,
        DecayFit(float(both.coefficients[1]), share, both.residual),
        _still(taken, own, eps),
        *_rows(taken, rule, own, eps),
    )


def _still(taken, expected, eps):
    names = []
    for name, part in taken.parts():
        if not np.any(taken.change[part]) and np.any(np.abs(expected[part]) > 4 * eps * np.abs(taken.weights[part])):
            names.append(name)
    return names


def _rows(taken, rule, expected, eps):
    """(`Update.rows`, `Update.wrong`)."""
    found = {}
    wrong = np.abs(taken.change - expected) > 20 * eps * (np.abs(taken.weights) + 8 * np.abs(taken.change))
    for slot, slot_rule in rule.slot_rules().items():
        if slot_rule.checked:
            expected_slot = slot_rule.keep * taken.old[slot] + slot_rule.gain * slot_rule.term(taken)
            whole = np.abs(taken.old[slot]) + np.abs(taken.new[slot])
            wrong |= np.abs(taken.new[slot] - expected_slot) > 50 * eps * whole
    names = [name for name, part in taken.parts() if wrong[part].any()]
    for (name, part), shape in zip(taken.parts(), taken.shapes):
        if len(shape) < 2:
            continue
        touched = np.any(taken.gradient[part].reshape(shape[0], -1) != 0, axis=1)
        if touched.all() or not touched.any():
            continue
        rows = np.any(wrong[part].reshape(shape[0], -1), axis=1)
        found[name] = WrongRows(float(rows[touched].mean()), float(rows[~touched].mean()))
    return found, names


def _slot_fit(taken, slot, slot_rule):
    term = slot_rule.term(taken)
    fit = fit_combination([taken.old[slot], term], taken.new[slot])
    keep, gain = (float(value) for value in fit.coefficients)
    whole = np.linalg.norm(taken.new[slot]) or 1.0
    sizes = [float(np.linalg.norm(c * v) / whole) for c, v in ((keep, taken.old[slot]), (gain, term))]
    return SlotFit(taken.step, keep, gain, fit.residual, *sizes)
