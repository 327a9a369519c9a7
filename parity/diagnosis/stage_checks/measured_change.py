"""`MeasuredChange`: the change of the weights in one step, read where it is rounded least.

A weight shows its change to a rounding of the weight. A slot that holds the change (`Optimizer.change_slot`) shows it
to a rounding of the change itself, which is thousands of times finer where a step is small beside the weight.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from workloads.optimizers import ChangeSlot, ObservedUpdate, Optimizer

#: Roundings of the change itself that the operations of an update may make.
OPERATIONS = 8.0


class MeasuredChange(NamedTuple):
    """The change of all weights' elements.

    Attributes:
      values: float64 vector.
      unit: size of one rounding of each element, above 0.
    """

    values: np.ndarray
    unit: np.ndarray

    def misfit(self, expected: np.ndarray) -> float:
        """Returns the root mean square of the distances from `expected`, in roundings; infinity for one that is NaN."""
        with np.errstate(all="ignore"):
            misfit = float(np.sqrt(np.mean(((self.values - expected) / self.unit) ** 2))) if self.values.size else 0.0
        return misfit if np.isfinite(misfit) else float("inf")


def measure_change(update: ObservedUpdate, optimizer: Optimizer, eps: float) -> MeasuredChange:
    """Measures the change of one step.

    Args:
      update: the step.
      optimizer: says which slot holds the change, in each form of its update.
      eps: machine epsilon of the weights.

    Returns:
      each weight's change as a slot holds it where that agrees with the weight's own, else as the weight shows it.
    """
    values = update.change.copy()
    unit = eps * (np.abs(update.weights) + OPERATIONS * np.abs(values)) + np.finfo(np.float64).tiny
    if not update.learning_rate:
        return MeasuredChange(values, unit)
    held = [_held_change(update, slot, eps) for slot in _change_slots(optimizer) if slot.slot in update.new]
    for _, part in update.parts():
        for slot in held:
            agrees = np.abs(slot.values[part] - values[part]) <= 2 * (unit[part] + slot.unit[part])
            if np.any(slot.values[part]) and np.all(agrees):
                values[part], unit[part] = slot.values[part], np.minimum(unit[part], slot.unit[part])
                break
    return MeasuredChange(values, unit)


def _held_change(update: ObservedUpdate, slot: ChangeSlot, eps: float) -> MeasuredChange:
    """The change as a slot holds it, whose addends are the slot's old value and what it takes up."""
    old, new = (slot.change_of(values[slot.slot], update.learning_rate) for values in (update.old, update.new))
    return MeasuredChange(new, OPERATIONS * eps * (np.abs(old) + np.abs(new)) + np.finfo(np.float32).tiny)


def _change_slots(optimizer: Optimizer) -> list[ChangeSlot]:
    """The slots that hold the change in any form, the own form's first."""
    slots = dict.fromkeys(optimizer.change_slot(form) for form in optimizer.update_forms())
    return [slot for slot in slots if slot is not None]
