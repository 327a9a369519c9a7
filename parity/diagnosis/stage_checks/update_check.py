"""Checks slots and weights: each by the optimizer's rule from the recorded gradient, slots and learning rate."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from parity.comparison import stages
from parity.comparison.fits import fit_combination, fit_factor
from parity.diagnosis.stage_checks.observed_updates import observe_update, readings_of, update_readings
from parity.diagnosis.stage_checks.side_step import SideStep
from parity.diagnosis.stage_checks.tensor_error import TensorError, elements_error
from workloads.optimizers import FormKind, ObservedUpdate, Optimizer

#: Roundings that an element's new value may be off by: of a slot, of a weight, of an accumulator.
MOST_SLOT, MOST_WEIGHT, MOST_POWER = 2.0, 2.0, 16.0

#: The slot that enters a change as an addend.
MOMENTUM = "momentum"

#: Coefficients of a fit; so few elements fit anything.
MOST_COEFFICIENTS = 2


def check_update(side: SideStep, optimizer: Optimizer, eps: float, update_units: float = 0.0) -> list[TensorError]:
    """Checks one side's new slots, accumulators and weights.

    Args:
      side: the step.
      optimizer: the rule.
      eps: machine epsilon of the weights.
      update_units: further roundings of the change that the side's formula needs, see `KerasClass.update_units`.

    Returns:
      one error for each tensor; empty if the record does not show what the rule reads.
    """
    update = observe_update(side.record, side.before, optimizer, finite=False)
    if update is None or not optimizer.update_forms():
        return []
    rules, updates = readings_of(optimizer), update_readings(update, optimizer)
    errors = [error for slot in optimizer.slot_rules() for error in _check_slot(updates, slot, rules, eps)]
    errors += _check_weights(updates, rules, eps, update_units)
    return errors + list(_check_accumulators(side, optimizer))


def _check_slot(updates: list[ObservedUpdate], slot: str, rules: list[Optimizer], eps: float) -> Iterator[TensorError]:
    update = updates[0]
    old, new = update.old[slot], update.new[slot]
    with np.errstate(all="ignore"):
        slot_rules = [rule.slot_rules()[slot] for rule in rules]
        made = [(rule.keep, rule.gain, rule.term(reading)) for reading in updates for rule in slot_rules]
        expected = [keep * old + gain * term for keep, gain, term in made]
        unit = eps * (np.abs(old) + np.abs(new) + np.abs(made[0][2])) + np.finfo(np.float32).tiny
    for name, part in update.parts():
        roundings = min(elements_error(new[part], value[part], unit[part]) for value in expected)
        keep, gain, term = made[-1]
        fact = ""
        if not roundings <= MOST_SLOT:
            fact = slot_fact(old[part], term[part], new[part], (keep, gain))
        yield TensorError(stages.SLOTS, f"{name}/{slot}", update.step, roundings, MOST_SLOT, fact)


def slot_fact(old: np.ndarray, term: np.ndarray, new: np.ndarray, rule: tuple[float, float]) -> str:
    """Describes a slot that the rule does not explain by the coefficients that explain it best.

    Args:
      old, new: the slot before and after the step, float64 [elements].
      term: the addend of the rule, [elements].
      rule: coefficients of `old` and `term` by the rule.

    Returns:
      a phrase.
    """
    if not np.all(np.isfinite(new)):
        return "values that are not finite"
    if np.array_equal(old, new):
        return "does not change"
    if new.size < MOST_COEFFICIENTS + 1:
        expected = rule[0] * old + rule[1] * term
        return f"is {new.flat[0]:.7g} where the rule gives {expected.flat[0]:.7g}"
    fit = fit_combination([old, term], new)
    keep, gain = fit.coefficients
    kept = f"keeps {keep:.7g} of itself and takes up {gain:.7g} x the gradient's term" if np.any(old) else ""
    taken = kept or f"takes up {gain:.7g} x the gradient's term"
    by_rule = f"{rule[0]:.7g} and {rule[1]:.7g}" if kept else f"{rule[1]:.7g}"
    return f"{taken} (by the rule {by_rule}), residual {fit.residual:.1e}"


def _check_weights(
    updates: list[ObservedUpdate], rules: list[Optimizer], eps: float, update_units: float
) -> Iterator[TensorError]:
    update = updates[0]
    predicted, sizes = [], []
    with np.errstate(all="ignore"):
        for reading in updates:
            changes = [change for rule in rules for change in _own_changes(rule, reading)]
            predicted += changes
            sizes += _addend_sizes(rules, reading, changes)
    if not predicted:
        return
    new = np.abs(update.weights + update.change)
    for name, part in update.parts():
        found = []
        for change, size in zip(predicted, sizes):
            unit = eps * (np.maximum(np.abs(update.weights[part]), new[part]) + (8 + update_units) * size[part])
            found.append(elements_error(update.change[part], change[part], unit + np.finfo(np.float32).tiny))
        roundings = min(found)
        fact = ""
        if not roundings <= MOST_WEIGHT:
            fact = change_fact(update.change[part], predicted[0][part], update.weights[part])
        yield TensorError(stages.WEIGHTS, name, update.step, roundings, MOST_WEIGHT, fact)


def _addend_sizes(rules: list[Optimizer], update: ObservedUpdate, predicted: list[np.ndarray]) -> list[np.ndarray]:
    """Sums of the sizes of each predicted change's addends: the momentum's part and the rest.

    Where they nearly cancel, the change is off by their roundings, which are many of its own.
    """
    if MOMENTUM not in update.old:
        return [np.abs(change) for change in predicted]
    still = dataclasses.replace(update, old={**update.old, MOMENTUM: np.zeros_like(update.old[MOMENTUM])})
    rests = [change for rule in rules for change in _own_changes(rule, still)]
    return [np.abs(rest) + np.abs(change - rest) for change, rest in zip(predicted, rests)]


def _own_changes(rule: Optimizer, update: ObservedUpdate) -> Iterator[np.ndarray]:
    """The change by the optimizer's own form, and by the one that raises constants to the step's number.

    The accumulators, which are checked by themselves, are products in float32. A loop that raises a constant to the
    step's number in float64 differs by their rounding, which 1 - beta ** step enlarges.
    """
    for number, (form, formula) in enumerate(rule.update_forms().items()):
        change = formula(update) if not number or form.kind is FormKind.STEP_POWERS else None
        if change is not None:
            yield change


def change_fact(change: np.ndarray, expected: np.ndarray, weights: np.ndarray) -> str:
    """Describes a change that the rule does not explain, by the rule's change and the weight.

    Args:
      change: of the weight, float64 [elements].
      expected: by the rule.
      weights: before the step.

    Returns:
      a phrase.
    """
    if not np.all(np.isfinite(change)):
        return "values that are not finite"
    if not np.any(change):
        return "does not change"
    if not np.any(expected):
        return "changes, and by the rule it does not"
    factor = fit_factor(expected, change)
    both = fit_combination([expected, weights], change)
    if change.size > MOST_COEFFICIENTS and both.residual < 0.1 * factor.residual:
        first, second = both.coefficients
        return f"changes by {first:.6g} x the rule's and {second:.4g} x the weight, residual {both.residual:.1e}"
    return f"changes by {factor.factor:.6g} x the rule's, residual {factor.residual:.1e}"


def _check_accumulators(side: SideStep, optimizer: Optimizer) -> Iterator[TensorError]:
    """Each accumulator is multiplied by its own constant in each step, in float32 whatever the weights' dtype."""
    eps = float(np.finfo(np.float32).eps)
    for name, constant in optimizer.accumulators().items():
        if name in side.before.slots and name in side.record.state.slots:
            old, new = (np.asarray(state.slots[name], np.float64) for state in (side.before, side.record.state))
            expected = old * float(np.float32(constant))
            roundings = elements_error(new, expected, eps * np.abs(expected))
            fact = f"is multiplied by {float(new) / float(old):.7g} (by the rule {constant:.7g})" if old.all() else ""
            fact = fact if not roundings <= MOST_POWER else ""
            yield TensorError(stages.SLOTS, name, side.record.step, roundings, MOST_POWER, fact)
