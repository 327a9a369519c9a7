"""Observed updates: one side's step as vectors over all weights, from which an optimizer's formulas are tried."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np

from parity.comparison.fits import flatten_arrays
from workloads.optimizers import ObservedUpdate, Optimizer
from workloads.program import Arrays, State, StepRecord


def learning_rate_of(record: StepRecord) -> float | None:
    """Returns the one learning rate of a step; None if it shows none, or (a lifted graph) several."""
    values = np.ravel([] if record.learning_rate is None else record.learning_rate)
    return float(values[0]) if values.size and np.all(values == values[0]) else None


def observe_updates(rows: Iterable[tuple[StepRecord, State]], optimizer: Optimizer) -> list[ObservedUpdate]:
    """Returns one side's steps, each linked to the one before it; steps that record too little are left out.

    Args:
      rows: (record, state before it) of each step, in order.
      optimizer: says which slots and accumulators to read.

    Returns:
      the updates.
    """
    found: list[ObservedUpdate] = []
    for record, before in rows:
        update = observe_update(record, before, optimizer)
        if update is not None:
            continues = bool(found) and found[-1].step == update.step - 1 and found[-1].names == update.names
            found.append(dataclasses.replace(update, previous=found[-1]) if continues else update)
    return found


def observe_update(
    record: StepRecord, before: State, optimizer: Optimizer, finite: bool = True
) -> ObservedUpdate | None:
    """Returns the step of the weights whose combined gradient is recorded.

    Args:
      record: the step.
      before: the state before it.
      optimizer: says which slots and accumulators to read.
      finite: whether to refuse inputs that are not finite, of which no fit can be made.

    Returns:
      the update; None if the record lacks a gradient, a slot or the one learning rate, or for a refused input.
    """
    names = [name for name in sorted(record.combined) if name in before.weights and name in record.state.weights]
    learning_rate = learning_rate_of(record)
    if not names or learning_rate is None or not _has_slots(record, before, optimizer, names):
        return None
    gradient = flatten_arrays(record.combined, names)
    weights = flatten_arrays(before.weights, names)
    update = ObservedUpdate(
        step=record.step,
        learning_rate=learning_rate,
        names=names,
        sizes=[int(np.size(before.weights[name])) for name in names],
        shapes=[np.shape(before.weights[name]) for name in names],
        gradient=gradient,
        weights=weights,
        change=flatten_arrays(record.state.weights, names) - weights,
        old=_slot_vectors(before, optimizer, names),
        new=_slot_vectors(record.state, optimizer, names),
        powers=[float(before.slots[name]) for name in optimizer.accumulators() if name in before.slots],
    )
    return update if not finite or _has_finite_inputs(update) else None


def _has_finite_inputs(update: ObservedUpdate) -> bool:
    vectors = (update.gradient, update.weights, *update.old.values())
    return bool(np.isfinite(update.learning_rate)) and all(bool(np.all(np.isfinite(vector))) for vector in vectors)


def _has_slots(record: StepRecord, before: State, optimizer: Optimizer, names: Sequence[str]) -> bool:
    needed = [f"{name}/{slot}" for name in names for slot in optimizer.slots()]
    return all(key in before.slots and key in record.state.slots for key in needed)


def _slot_vectors(state: State, optimizer: Optimizer, names: Sequence[str]) -> Arrays:
    return {slot: flatten_arrays(state.slots, [f"{name}/{slot}" for name in names]) for slot in optimizer.slots()}


def readings_of(optimizer: Optimizer) -> list[Optimizer]:
    """Returns the optimizer with its constants rounded to float32, as TensorFlow hands them on, and as they are."""
    values = {field.name: getattr(optimizer, field.name) for field in dataclasses.fields(optimizer)}
    rounded = {name: float(np.float32(value)) for name, value in values.items() if isinstance(value, float)}
    return [dataclasses.replace(optimizer, **rounded), optimizer]


def update_readings(update: ObservedUpdate, optimizer: Optimizer) -> list[ObservedUpdate]:
    """Returns the update with each learning rate, and with each value of the accumulators, that its record allows.

    A loop in float64 multiplies with 0.1, or with the nearest float32 number, and may record either. Accumulators that
    are not recorded may be products in float32, as 1.x has them, or powers by the step's number, which is no reading.

    Args:
      update: one step of one side.
      optimizer: the rule.

    Returns:
      the update as it is, and its other readings.
    """
    rounded = np.float32(update.learning_rate)
    rates = dict.fromkeys([update.learning_rate, float(rounded), float(str(rounded))])
    readings = [dataclasses.replace(update, learning_rate=rate) for rate in rates]
    constants = list(optimizer.accumulators().values())
    if update.powers or not constants:
        return readings
    powers = [_product(constant, update.step + 1) for constant in constants]
    return readings + [dataclasses.replace(reading, powers=powers) for reading in readings]


def _product(constant: float, count: int) -> float:
    """The constant to a power, multiplied up in float32."""
    product = factor = np.float32(constant)
    for _ in range(count - 1):
        product = product * factor
        if not product:
            break
    return float(product)
