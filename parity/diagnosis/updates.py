"""Updates: each side's change of weights and slots, explained by the optimizer's formulas from its own record."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parity.comparison.fits import FactorFit, fit_combination, fit_factor, largest, relative_norm
from parity.diagnosis.stage_checks.measured_change import measure_change
from parity.diagnosis.stage_checks.observed_updates import observe_updates, readings_of
from workloads.optimizers import ObservedUpdate, Optimizer, SlotRule, UpdateForm
from workloads.optimizers.base import gradient, squared_gradient

if TYPE_CHECKING:
    from parity.diagnosis.evidence import Evidence

#: An element is wrong if it is off by more than so many roundings: of the weight's change, and of a slot.
WRONG_CHANGE, WRONG_SLOT = 20, 50

#: What a slot takes up is the gradient if no more than this part of it is left over.
MOST_ROUNDING = 1e-4


class SlotFit(NamedTuple):
    """One slot in one step: `new ~ keep * old + gain * term`, the term being what the slot adds up (`SlotRule.term`).

    Attributes:
      step: number of the step.
      keep, gain: coefficients.
      residual: part of the slot's length that is left over.
      old_size, gain_size: length of each addend relative to the slot's: the coefficient of nothing is not known.
      decay: the c for which `gradient + c * weight` in the place of the gradient explains the slot; 0 if the gradient
        alone explains it, NaN if no c does.
      old_length: length of the slot's old value relative to the new one's: how much of it is kept shows even where that
        is nothing.
    """

    step: int
    keep: float
    gain: float
    residual: float
    old_size: float
    gain_size: float
    decay: float = 0.0
    old_length: float = 0.0


class DecayFit(NamedTuple):
    """Fit `change ~ predicted * rule's change + multiple * weight`; `share` is the second term's part of |change|."""

    multiple: float
    share: float
    residual: float
    predicted: float = 1.0


class WrongRows(NamedTuple):
    """Parts, 0 to 1, of the rows with and of the rows without a gradient that the rule does not explain."""

    touched: float
    untouched: float


@dataclasses.dataclass(frozen=True)
class Update:
    """One step of one side.

    Attributes:
      step: number of the step.
      learning_rate: of the step.
      forms: {form of the optimizer's update, its own first: misfit}; 1 is what rounding makes, see `MeasuredChange`.
      factor: fit of the change by what the optimizer's own form predicts.
      decay: fit of the change by the predicted change and the weight.
      still: weights that did not move though the rule says that they should have.
      rows: {weight: wrong rows} of matrices in which some rows, but not all, have no gradient at all.
      wrong: weights with elements, or slots, that the rule does not explain.
      factors: {weight: `factor` of its change alone}.
    """

    step: int
    learning_rate: float
    forms: dict[UpdateForm, float]
    factor: FactorFit
    decay: DecayFit
    still: list[str]
    rows: dict[str, WrongRows]
    wrong: list[str]
    factors: dict[str, FactorFit] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Updates:
    """One side's updates.

    Attributes:
      steps: one entry a step; at least one.
      slots: {slot: fits, one a step}.
    """

    steps: list[Update]
    slots: dict[str, list[SlotFit]]

    @property
    def own_form(self) -> UpdateForm:
        """The form that the optimizer itself computes."""
        return next(iter(self.steps[0].forms))

    def explained_by(self, form: UpdateForm, most: float = 20.0) -> bool:
        """Tells whether a form's misfit is at most `most` in every step."""
        return bool(self.steps) and all(step.forms.get(form, np.inf) <= most for step in self.steps)

    def misfit(self, form: UpdateForm) -> float:
        """Returns the worst misfit of a form over the steps; infinity where a step lacks what the form reads."""
        return largest(step.forms.get(form, np.inf) for step in self.steps) if self.steps else float("inf")


def fit_updates(evidence: Evidence) -> tuple[Updates | None, Updates | None]:
    """Returns (left, right) updates; None for a side that shows too little, or if the optimizer has no formulas."""
    optimizer = evidence.context.optimizer
    if optimizer is None or not optimizer.update_forms():
        return None, None
    left = observe_updates([(step.left, step.left_before) for step in evidence.steps], optimizer)
    right = observe_updates([(step.right, step.right_before) for step in evidence.steps], optimizer)
    return _fit_side(left, optimizer, evidence.eps), _fit_side(right, optimizer, evidence.eps)


def _fit_side(updates: list[ObservedUpdate], optimizer: Optimizer, eps: float) -> Updates | None:
    if not updates:
        return None
    slots = {
        slot: [_fit_slot(update, slot, rule) for update in updates] for slot, rule in optimizer.slot_rules().items()
    }
    return Updates([_fit_update(update, optimizer, eps) for update in updates], slots)


def _fit_update(update: ObservedUpdate, optimizer: Optimizer, eps: float) -> Update:
    tried = {form: formula(update) for form, formula in optimizer.update_forms().items()}
    predicted = {form: change for form, change in tried.items() if change is not None}
    own = next(iter(predicted.values()))
    wrong = _wrong_elements(update, optimizer, own, eps)
    measured = measure_change(update, optimizer, eps)
    return Update(
        step=update.step,
        learning_rate=update.learning_rate,
        forms={form: measured.misfit(value) for form, value in predicted.items()},
        factor=fit_factor(own, update.change),
        decay=_fit_decay(update, own),
        still=_still_weights(update, own, eps),
        rows=_wrong_rows(update, wrong),
        wrong=[name for name, part in update.parts() if wrong[part].any()],
        factors={name: fit_factor(own[part], update.change[part]) for name, part in update.parts()},
    )


def _fit_decay(update: ObservedUpdate, expected: np.ndarray) -> DecayFit:
    fit = fit_combination([expected, update.weights], update.change)
    predicted, multiple = (float(value) for value in fit.coefficients)
    return DecayFit(multiple, relative_norm(multiple * update.weights, update.change), fit.residual, predicted)


def _still_weights(update: ObservedUpdate, expected: np.ndarray, eps: float) -> list[str]:
    """Names of the weights in which no element moved, though one should have moved by more than a rounding error."""
    names = []
    for name, part in update.parts():
        due = np.abs(expected[part]) > 4 * eps * np.abs(update.weights[part])
        if not np.any(update.change[part]) and np.any(due):
            names.append(name)
    return names


def _wrong_elements(update: ObservedUpdate, optimizer: Optimizer, expected: np.ndarray, eps: float) -> np.ndarray:
    """Boolean vector [elements]: whether the weight's change, or one of its slots, is not what the rule says."""
    unit = eps * (np.abs(update.weights) + 8 * np.abs(update.change))
    wrong: np.ndarray = np.abs(update.change - expected) > WRONG_CHANGE * unit
    for slot, rule in optimizer.slot_rules().items():
        if rule.checked:
            old, new = update.old[slot], update.new[slot]
            rules = [reading.slot_rules()[slot] for reading in readings_of(optimizer)]
            gaps = [np.abs(new - (r.keep * old + r.gain * r.term(update))) for r in rules]
            wrong = wrong | (np.min(gaps, axis=0) > WRONG_SLOT * eps * (np.abs(old) + np.abs(new)))
    return wrong


def _wrong_rows(update: ObservedUpdate, wrong: np.ndarray) -> dict[str, WrongRows]:
    """Wrong rows of the matrices in which the gradient touches some rows and leaves others alone, as embeddings'."""
    found = {}
    for (name, part), shape in zip(update.parts(), update.shapes):
        if len(shape) < 2:
            continue
        touched = np.any(update.gradient[part].reshape(shape[0], -1) != 0, axis=1)
        if touched.any() and not touched.all():
            rows = np.any(wrong[part].reshape(shape[0], -1), axis=1)
            found[name] = WrongRows(float(rows[touched].mean()), float(rows[~touched].mean()))
    return found


def _fit_slot(update: ObservedUpdate, slot: str, rule: SlotRule) -> SlotFit:
    old, new, term = update.old[slot], update.new[slot], rule.term(update)
    fit = fit_combination([old, term], new)
    keep, gain = (float(value) for value in fit.coefficients)
    whole = np.linalg.norm(new) or 1.0
    old_size, gain_size = float(np.linalg.norm(keep * old) / whole), float(np.linalg.norm(gain * term) / whole)
    decay = _fit_coupled_decay(update, slot, rule)
    return SlotFit(
        update.step, keep, gain, fit.residual, old_size, gain_size, decay, float(np.linalg.norm(old) / whole)
    )


def _fit_coupled_decay(update: ObservedUpdate, slot: str, rule: SlotRule) -> float:
    """The c of `SlotFit.decay`: as where an optimizer adds weight decay to the gradient that it gets."""
    old, new, weights = update.old[slot], update.new[slot], update.weights
    added, term = (new - rule.keep * old) / rule.gain, rule.term(update)
    if relative_norm(added - term, added) <= MOST_ROUNDING:
        return 0.0
    if rule.term not in (gradient, squared_gradient):
        return float("nan")
    basis = [weights] if rule.term is gradient else [2 * update.gradient * weights, weights**2]
    multiple = float(fit_combination(basis, added - term).coefficients[0])
    decayed = rule.term(dataclasses.replace(update, gradient=update.gradient + multiple * weights))
    left_over = relative_norm(added - decayed, added)  # infinite if the slot takes up nothing, which explains nothing
    most = max(MOST_ROUNDING, relative_norm(added - term, added) / 100)
    return multiple if np.isfinite(left_over) and left_over <= most else float("nan")
