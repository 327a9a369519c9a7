"""Checks without a rule: initial values and learning rates against the left's, and whatever no known rule gives.

Where no rule is known (a lifted graph's optimizer), what both sides make of nearly equal inputs is compared: the bound
grows with the distance of the inputs, and a tensor whose bound is no longer small beside its change is not judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from parity.comparison import stages
from parity.comparison.fits import fit_factor
from parity.diagnosis.stage_checks.side_step import SideStep, StepPair
from parity.diagnosis.stage_checks.tensor_error import TensorError, elements_error, norm_error
from workloads.program import Arrays, State

#: Roundings of an initial value and of a learning rate, which schedules compute in a few float32 operations.
MOST_INITIAL, MOST_RATE = 4.0, 16.0

#: Roundings of a tensor that no rule is known for, and the amplification of its inputs' distance.
MOST_OWN, AMPLIFIED = 100.0, 1000.0

#: A tensor is judged if its bound is at most this part of its change.
MOST_PART = 0.1


def check_initial_state(left: State, right: State, eps: float) -> list[TensorError]:
    """Checks the values before the first step against the left's.

    Args:
      left, right: the states.
      eps: machine epsilon of the weights.

    Returns:
      one error for each variable that both have in one shape.
    """
    others = stages.state_tensors(right)
    errors = []
    for (stage, name), value in stages.state_tensors(left).items():
        other = others.get((stage, name))
        if other is not None and other.shape == value.shape:
            first, second = np.asarray(value, np.float64), np.asarray(other, np.float64)
            roundings = elements_error(second, first, eps * np.abs(first) + np.finfo(np.float32).tiny)
            text = name if stage == stages.WEIGHTS else f"{name} ({stage})"
            fact = ""
            if not roundings <= MOST_INITIAL:
                fit = fit_factor(first.ravel(), second.ravel())
                fact = f"{fit.factor:.6g} x legacy's, residual {fit.residual:.1e}"
            errors.append(TensorError(stages.INITIAL, text, left.step, roundings, MOST_INITIAL, fact))
    return errors


def check_learning_rate(left: SideStep, right: SideStep) -> list[TensorError]:
    """Checks a step's learning rate against the left's; none where one side shows none."""
    if left.record.learning_rate is None or right.record.learning_rate is None:
        return []
    first, second = (np.asarray(side.record.learning_rate, np.float64) for side in (left, right))
    if first.shape != second.shape or not first.size:
        return []
    eps = float(np.finfo(np.float32).eps)
    roundings = elements_error(second, first, eps * np.abs(first) + np.finfo(np.float32).tiny)
    fact = "" if roundings <= MOST_RATE else f"{second.flat[0]:.7g} against {first.flat[0]:.7g}"
    return [TensorError(stages.RATE, "learning rate", left.record.step, roundings, MOST_RATE, fact)]


def check_without_rule(pair: StepPair, stage: str, eps: float) -> list[TensorError]:
    """Checks the result of a stage against the left's where the inputs of both are nearly equal.

    Args:
      pair: the step.
      stage: `COMBINED`, `WEIGHTS`, `SLOTS`, `STATISTICS` or `AVERAGES`.
      eps: machine epsilon of the weights.

    Returns:
      errors of the tensors that can be judged.
    """
    bound = MOST_OWN * eps + AMPLIFIED * _input_gap(pair, stage)
    return list(_errors(pair, stage, bound, eps)) if bound <= MOST_PART else []


def with_history(pairs: Iterable[StepPair]) -> list[StepPair]:
    """Returns the pairs of steps, in order, with their `history_gap`."""
    found: list[StepPair] = []
    for pair in pairs:
        earlier = found[-1].history_gap if found else 0.0
        found.append(pair._replace(history_gap=max(earlier, _gradient_gap(pair))))
    return found


def _gradient_gap(pair: StepPair) -> float:
    """Relative distance of the combined gradients; of the weights before the step where they are not recorded."""
    left, right = pair.left.record, pair.right.record
    return _relative_gap(left.combined, right.combined) if left.combined and right.combined else pair.state_gap


def _errors(pair: StepPair, stage: str, bound: float, eps: float) -> Iterator[TensorError]:
    before = (_arrays_before(pair.left, stage), _arrays_before(pair.right, stage))
    left, right = _arrays(pair.left, stage), _arrays(pair.right, stage)
    for name in sorted(set(left) & set(right)):
        first, second = np.asarray(left[name], np.float64), np.asarray(right[name], np.float64)
        old, other = (np.asarray(b.get(name, np.zeros_like(first)), np.float64) for b in before)
        if not first.shape == second.shape == old.shape == other.shape or not np.all(np.isfinite(first)):
            continue
        moved = float(np.linalg.norm(first - old))
        if norm_error(other, old, float(np.linalg.norm(old)), 1.0) > bound:
            continue
        length = moved + float(np.linalg.norm(old)) * MOST_OWN * eps / bound
        if bound * length > MOST_PART * moved and moved:
            continue
        most = bound / eps
        roundings = norm_error(second - other, first - old, length, eps)
        fact = ""
        if not roundings <= most:
            fit = fit_factor((first - old).ravel(), (second - other).ravel())
            fact = f"changes by {fit.factor:.6g} x legacy's change, residual {fit.residual:.1e}"
        yield TensorError(stage, name, pair.left.record.step, roundings, most, fact)


def _input_gap(pair: StepPair, stage: str) -> float:
    """Relative distance between the inputs of a stage on both sides; infinity where a side did not record them."""
    left, right = pair.left.record, pair.right.record
    if stage == stages.COMBINED and not left.gradients and not right.gradients:
        return pair.state_gap
    if stage == stages.COMBINED:
        if not left.gradients or len(left.gradients) != len(right.gradients):
            return float("inf")
        return max(_relative_gap(a, b) for a, b in zip(left.gradients, right.gradients))
    if stage == stages.AVERAGES:
        return _relative_gap(left.state.weights, right.state.weights)
    if stage == stages.STATISTICS:
        if left.proposals and len(left.proposals) == len(right.proposals):
            return max(_relative_gap(a, b) for a, b in zip(left.proposals, right.proposals))
        return pair.state_gap
    before = pair.left.before.slots, pair.right.before.slots
    common = before[0].keys() & before[1].keys()
    slots = _relative_gap(*({name: slots[name] for name in common} for slots in before))
    unshown = 0.0 if before[0].keys() == before[1].keys() else pair.history_gap
    return max(_gradient_gap(pair), slots, unshown, pair.state_gap)


def _relative_gap(left: Arrays, right: Arrays) -> float:
    """Largest relative distance of one tensor; infinity for other names, shapes, or values that are not finite."""
    if set(left) != set(right):
        return float("inf")
    worst = 0.0
    for name, value in left.items():
        first, second = np.asarray(value, np.float64), np.asarray(right[name], np.float64)
        if first.shape != second.shape:
            return float("inf")
        if not np.array_equal(first, second):
            length = float(np.linalg.norm(first))
            gap = float(np.linalg.norm(second - first)) / length if length else float("inf")
            worst = max(worst, gap if np.isfinite(gap) else float("inf"))
    return worst


def _arrays(side: SideStep, stage: str) -> Arrays:
    return side.record.combined if stage == stages.COMBINED else _state_arrays(side.record.state, stage)


def _arrays_before(side: SideStep, stage: str) -> Arrays:
    return {} if stage == stages.COMBINED else _state_arrays(side.before, stage)


def _state_arrays(state: State, stage: str) -> Arrays:
    return {
        stages.WEIGHTS: state.weights,
        stages.SLOTS: state.slots,
        stages.STATISTICS: state.statistics,
        stages.AVERAGES: state.averages,
    }[stage]
