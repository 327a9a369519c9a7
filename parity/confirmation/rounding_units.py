"""Units of rounding: for each tensor of a step, the magnitude that its own few operations round relative to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from parity.comparison import stages
from parity.confirmation.injected_port import UserStep
from workloads.optimizers import Optimizer
from workloads.program import StepRecord

#: Roundings of a weight's change that count like one of the weight itself.
CHANGE_ROUNDINGS = 8.0


class Rules(NamedTuple):
    """Facts about the job that decide how much rounding may differ by.

    Attributes:
      optimizer: of the injected port.
      update_units: roundings of a weight's change that the user's formulas need beyond the usual; see
        `tolerance.keras_units`.
    """

    optimizer: Optimizer
    update_units: float = 0.0


def units_of_tensor(
    stage: str, name: str, mine: np.ndarray, other: np.ndarray, user: UserStep, rules: Rules
) -> np.ndarray:
    """Returns, for each element, the magnitude whose rounding error is one unit of a tensor's difference.

    Args:
      stage: the tensor's stage.
      name: its name within the stage.
      mine, other: the injected port's tensor and the user's.
      user: the user's step.
      rules: facts about the job.

    Returns:
      float64 array that broadcasts to the tensor's shape; ones for a tensor that is compared for equality.
    """
    if np.asarray(other).dtype.kind != "f":
        return np.ones(())
    size = magnitude(other)
    largest = max(_largest(other), _largest(mine))
    before, after = user.before, user.record.state
    if stage == stages.COMBINED:
        return np.asarray(largest * _cancellation(name, user.record))
    if stage == stages.WEIGHTS and name in before.weights:
        change = _largest(np.asarray(after.weights[name], np.float64) - before.weights[name])
        return size + (CHANGE_ROUNDINGS + rules.update_units) * change
    if stage == stages.SLOTS and name in before.slots:
        return _slot_units(name, size, user, rules)
    if stage == stages.STATISTICS and name in before.statistics:
        return np.asarray(max(largest, _largest(before.statistics[name])))
    if stage == stages.AVERAGES and name in after.weights:
        return size + np.abs(np.asarray(after.weights[name], np.float64))
    return np.asarray(largest)


def _slot_units(name: str, size: np.ndarray, user: UserStep, rules: Rules) -> np.ndarray:
    """A slot's own magnitude before and after, and that of the term it takes up a part of.

    The part is 1 - decay in float32, which has lost as many digits as the decay is near 1.
    """
    old = np.asarray(user.before.slots[name], np.float64)
    new = np.asarray(user.record.state.slots[name], np.float64)
    if "/" not in name:  # a power of a constant, which some libraries compute anew from the number of the step
        return size * (1 + user.before.step)
    rule = rules.optimizer.slot_rules().get(name.rsplit("/", 1)[-1])
    gain = min(abs(rule.gain), 1.0) if rule is not None and rule.gain else 1.0
    return size + np.abs(old) + _largest(new - old) / gain


def _cancellation(name: str, record: StepRecord) -> float:
    """Returns by how much the replicas' gradients are larger than their mean: rounding is relative to the addends."""
    gradients = [np.asarray(of[name], np.float64) for of in record.gradients if name in of]
    whole = _largest(sum(gradients, np.zeros(())) / len(gradients)) if gradients else 0.0
    return max(1.0, max(map(_largest, gradients)) / whole) if whole else 1.0


def magnitude(array: np.ndarray) -> np.ndarray:
    """Returns |elements| of floats in float64; 1 for a tensor that is compared for equality."""
    array = np.asarray(array)
    return np.abs(np.asarray(array, np.float64)) if array.dtype.kind == "f" else np.ones(())


def _largest(array: np.ndarray) -> float:
    entries = np.abs(np.atleast_1d(np.asarray(array, np.float64)))
    return float(np.max(entries[np.isfinite(entries)], initial=0.0))
