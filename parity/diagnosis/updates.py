"""How each side changed its weights and slots, explained from its own gradient, slots and rate by known rules."""

from __future__ import annotations

import dataclasses
from typing import Dict, List

import numpy as np

from parity.comparison.fits import Scale, combination, flat, relative, scale
from parity.diagnosis import update_forms as forms
from parity.diagnosis.learning_rates import rate_of


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


@dataclasses.dataclass(frozen=True)
class Update:
    """One step of one side.

    Attributes:
      step, rate: its number and learning rate.
      forms: {name of a form of the rule: misfit}; 1 is what rounding makes, see `misfit`.
      factor: `Scale` of the change by what the side's own rule predicts.
      decay: c of `change ~ a * predicted + c * weight`, and how much of the change that is.
      still: weights that did not move though the rule says that they should have.
      rows: {weight: parts of its rows, touched and untouched by the gradient, that the rule does not explain}, of
        matrices in which some rows have no gradient at all.
      wrong: weights with elements, or slots, that the rule does not explain.
    """

    step: int
    rate: float
    forms: Dict[str, float]
    factor: Scale
    decay: tuple
    still: List[str]
    rows: Dict[str, tuple]
    wrong: List[str]


@dataclasses.dataclass(frozen=True)
class Updates:
    """Attributes:
    steps: `Update`s, one a step.
    slots: {slot: [`SlotFit`]}, one a step.
    """

    steps: List[Update]
    slots: Dict[str, List[SlotFit]]

    def explained_by(self, name, most=20.0):
        """Whether a form of the rule explains every step."""
        return bool(self.steps) and all(step.forms.get(name, np.inf) <= most for step in self.steps)

    def misfit(self, name):
        """The worst misfit of a form over the steps."""
        return max((step.forms.get(name, np.inf) for step in self.steps), default=float("inf"))


def measure(evidence):
    """(left, right) `Updates`; None for a side, or a rule, that cannot be followed."""
    rule = evidence.context.optimizer
    if type(rule) not in forms.FORMS:
        return None, None
    return tuple(_side(evidence, side, rule) for side in (0, 1))


def misfit(expected, change, weights, eps):
    """Root mean square of the elements' errors, each in units of its own rounding: about 1 if `expected` is right.

    Args:
      expected, change, weights: float64 vectors.
      eps: machine epsilon.
    """
    unit = eps * (np.abs(weights) + 8 * np.abs(change)) + np.finfo(np.float64).tiny
    return float(np.sqrt(np.mean(((change - expected) / unit) ** 2))) if change.size else 0.0


def _side(evidence, side, rule):
    steps, fits, before_change = [], {}, None
    for step in evidence.steps:
        record = (step.left, step.right)[side]
        before = (step.left_before, step.right_before)[side]
        taken = _taken(record, before, rule, before_change)
        if taken is None:
            before_change = None
            continue
        steps.append(_update(taken, rule, evidence.eps))
        for slot, power in forms.SLOTS[type(rule)].items():
            fits.setdefault(slot, []).append(_slot_fit(taken, slot, power))
        before_change = taken.change if taken.continues else None
    return Updates(steps, fits) if steps else None


def _taken(record, before, rule, last_change):
    """`forms.Taken`, or None if the record lacks what the rule reads."""
    names = [n for n in sorted(record.combined) if n in before.weights and n in record.state.weights]
    needed = [f"{name}/{slot}" for name in names for slot in rule.slots()]
    shown = all(key in before.slots and key in record.state.slots for key in needed)
    if not names or not shown or rate_of(record) is None:
        return None
    if not np.all(np.isfinite(flat(record.combined, names))):
        return None
    slots = [
        {slot: flat(state.slots, [f"{name}/{slot}" for name in names]) for slot in rule.slots()}
        for state in (before, record.state)
    ]
    powers = [float(before.slots[name]) for name in rule.accumulators() if name in before.slots]
    weights = flat(before.weights, names)
    return forms.Taken(
        step=record.step,
        rate=rate_of(record),
        names=names,
        sizes=[np.size(before.weights[name]) for name in names],
        shapes=[np.shape(before.weights[name]) for name in names],
        gradient=flat(record.combined, names),
        weights=weights,
        change=flat(record.state.weights, names) - weights,
        old=slots[0],
        new=slots[1],
        powers=powers,
        last_change=last_change,
        continues=True,
    )


def _update(taken, rule, eps):
    predicted = {name: form(taken, rule) for name, form in forms.FORMS[type(rule)].items()}
    predicted = {name: value for name, value in predicted.items() if value is not None}
    own = next(iter(predicted.values()))
    factor = scale(own, taken.change)
    both = combination([own, taken.weights], taken.change)
    share = relative(both.coefficients[1] * taken.weights, taken.change)
    return Update(
        taken.step,
        taken.rate,
        {name: misfit(value, taken.change, taken.weights, eps) for name, value in predicted.items()},
        factor,
        (float(both.coefficients[1]), share, both.residual),
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
    for slot, value in forms.expected_slots(taken, rule).items():
        whole = np.abs(taken.old[slot]) + np.abs(taken.new[slot])
        wrong |= np.abs(taken.new[slot] - value) > 50 * eps * whole
    names = [name for name, part in taken.parts() if wrong[part].any()]
    for (name, part), shape in zip(taken.parts(), taken.shapes):
        if len(shape) < 2:
            continue
        touched = np.any(taken.gradient[part].reshape(shape[0], -1) != 0, axis=1)
        if touched.all() or not touched.any():
            continue
        rows = np.any(wrong[part].reshape(shape[0], -1), axis=1)
        found[name] = (float(rows[touched].mean()), float(rows[~touched].mean()))
    return found, names


def _slot_fit(taken, slot, power):
    term = forms.slot_term(taken, slot, power)
    fit = combination([taken.old[slot], term], taken.new[slot])
    keep, gain = (float(value) for value in fit.coefficients)
    whole = np.linalg.norm(taken.new[slot]) or 1.0
    sizes = [float(np.linalg.norm(c * v) / whole) for c, v in ((keep, taken.old[slot]), (gain, term))]
    return SlotFit(taken.step, keep, gain, fit.residual, *sizes)
