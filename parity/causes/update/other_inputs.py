"""Causes in what an update reads: the gradient of another step, or slots that start anew.

The optimizer's rule explains the port's new slots and weights to rounding, from other inputs than those that the step
shows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from parity.causes.basics import injection
from parity.causes.basics.cause import HIGH, Cause, Fault, Finding
from parity.causes.basics.gradient_changes import step_value
from parity.causes.update.earlier_gradients import STARTS, ZEROS, Reading, earlier_gradients
from parity.comparison import stages
from parity.diagnosis.stage_checks.side_step import SideStep
from parity.diagnosis.stage_checks.step_pattern import describe_steps
from parity.diagnosis.stage_checks.update_check import check_update
from workloads import optimizers, schedules

if TYPE_CHECKING:
    import tensorflow as tf

    from modern.mirrored.state.update_rules import UpdateRules
    from modern.mirrored.state.variables import LocalState
    from modern.mirrored.step.step_tensors import Tensors
    from parity.comparison.setup import Setup
    from parity.diagnosis.evidence import Evidence
    from parity.diagnosis.steps.compared_step import ComparedStep
    from workloads.program import Arrays, State

_UPDATE = (stages.WEIGHTS, stages.SLOTS)

#: An update may be late by so many steps at most, or take the mean of so many steps' gradients.
MOST_STEPS = 4

#: Steps that must show it.
LEAST_SHOWN = 2


def stale_gradient(evidence: Evidence) -> Finding | None:
    """Recognizes STALE_GRADIENT: the rule explains the port's updates with gradients of the steps before."""
    late = [Reading(lag, 1) for lag in range(1, MOST_STEPS)]
    for reading in late + [Reading(0, steps) for steps in range(2, MOST_STEPS + 1)]:
        shown = _explained_with(evidence, reading)
        if shown >= LEAST_SHOWN:
            return Finding(
                f"The port updates its weights with {reading.words}, not with the gradient that it has just combined.",
                HIGH,
                f"the optimizer's rule explains slots and weights of {shown} steps with it, to rounding, and of none "
                "with the step's own gradient",
                {"lag": reading.lag, "steps": reading.steps, "start": _start_of(evidence, reading)},
            )
    return None


def _explained_with(evidence: Evidence, reading: Reading) -> int:
    """Number of the steps that the rule explains with such gradients only; 0 if one is not explained."""
    off, shown = set(_off_steps(evidence, _UPDATE)), 0
    for index in range(reading.needed, len(evidence.steps)):
        step = evidence.steps[index]
        if step.left.step not in off:
            continue
        if evidence.steps[index - reading.needed].right.step != step.right.step - reading.needed:
            return 0  # steps between them were not kept
        combined = _read_gradients(evidence, index, reading)
        if combined is None or not _is_explained(evidence, step, combined, step.right_before):
            return 0
        shown += 1
    return shown


def _start_of(evidence: Evidence, reading: Reading) -> str:
    """The one of `STARTS` that explains the first steps, which have too few steps before them; "" if none does."""
    first = evidence.steps[: reading.needed]
    for start in STARTS:
        read = [_read_gradients(evidence, index, reading, start) for index in range(len(first))]
        if all(
            combined is not None and _is_explained(evidence, step, combined, step.right_before)
            for step, combined in zip(first, read)
        ):
            return start
    return ""


def _read_gradients(evidence: Evidence, index: int, reading: Reading, start: str = ZEROS) -> Arrays | None:
    """The combined gradient that the port's update of one step reads; None where a step has other variables."""
    own = evidence.steps[index].right.combined
    parts = [
        (evidence.steps[index - back].right.combined, share) for back, share in reading.of_first_steps(index, start)
    ]
    if any(set(row) != set(own) for row, _ in parts):
        return None
    return {
        name: np.sum([np.zeros(np.shape(own[name]))] + [np.asarray(row[name], np.float64) * s for row, s in parts], 0)
        for name in own
    }


def slots_start_anew(evidence: Evidence) -> Finding | None:
    """Recognizes SLOTS_START_ANEW: in some steps the rule explains the port's updates from slots without a past."""
    optimizer, off = evidence.context.optimizer, _off_steps(evidence, (stages.SLOTS,))
    steps = [step for step in evidence.steps if step.left.step in off]
    if optimizer is None or not steps or len(off) > len(evidence.steps) // 2:
        return None
    for values in _first_values(optimizer):
        before = [_with_slots(step.right_before, values) for step in steps]
        if all(_is_explained(evidence, step, step.right.combined, state) for step, state in zip(steps, before)):
            named = ", ".join(f"{slot} = {value:g}" for slot, value in values.items())
            return Finding(
                f"The optimizer's slots start anew {describe_steps(off, [step.left.step for step in evidence.steps])}: "
                f"the update is the rule's from {named}.",
                HIGH,
                "from these values the rule explains slots and weights to rounding, and from the slots that the step "
                "before left it does not",
                {"slots": tuple(values.items())},
                steps=tuple(off),
            )
    return None


def _first_values(optimizer: optimizers.Optimizer) -> Iterator[dict[str, float]]:
    """Values of slots without a past: of one kind or all, zero or the optimizer's own, with its accumulators too."""
    own, zeros = dict(optimizer.slots()), dict.fromkeys(optimizer.slots(), 0.0)
    yield {**own, **optimizer.accumulators()}
    for values in (own, zeros):
        yield values
        yield from ({slot: value} for slot, value in values.items())


def _with_slots(state: State, values: Mapping[str, float]) -> State:
    """A state whose slots of some kinds have one value each."""
    slots = {
        name: np.full_like(value, values[name.rsplit("/", 1)[-1]]) if name.rsplit("/", 1)[-1] in values else value
        for name, value in state.slots.items()
    }
    return dataclasses.replace(state, slots=slots)


def _off_steps(evidence: Evidence, of_stages: Sequence[str]) -> list[int]:
    """Steps in which the port's updates are off; none if legacy's are, which then has another rule."""
    found = [entry for entry in evidence.deviations.found if entry.stage in of_stages]
    if any(entry.side == "left" for entry in found):
        return []
    return sorted({step for entry in found for step in entry.steps})


def _is_explained(evidence: Evidence, step: ComparedStep, combined: Arrays, before: State) -> bool:
    """Whether the rule makes the port's slots and weights of these inputs, to rounding."""
    optimizer = evidence.context.optimizer
    if optimizer is None:
        return False
    side = SideStep(dataclasses.replace(step.right, combined=combined), before)
    errors = check_update(side, optimizer, evidence.eps)
    return bool(errors) and not any(error.off for error in errors)


class _SlotsAnew(injection.WrappedRules):
    """Gives slots other values before the update of some steps.

    Args:
      rules: the rules to wrap.
      values: {slot or accumulator: value}.
      steps: numbers of the steps.
    """

    def __init__(self, rules: UpdateRules, values: Mapping[str, float], steps: Sequence[int]) -> None:
        super().__init__(rules)
        self._values, self._steps = values, dict.fromkeys(steps, 1.0)

    def apply(self, local: LocalState, gradients: Tensors, rate: tf.Tensor) -> None:
        import tensorflow as tf

        anew = step_value(local.step.read_value(), self._steps, 0.0, tf.float32) > 0
        for name, slot in local.slots.items():
            kind = name.rsplit("/", 1)[-1]
            if kind in self._values:
                first = tf.ones_like(slot) * tf.cast(self._values[kind], slot.dtype)
                slot.assign(tf.where(anew, first, slot.read_value()))
        self._rules.apply(local, gradients, rate)


def _slots_anew(values: Mapping[str, float], steps: Sequence[int]) -> injection.Change:
    return injection.in_update_rules(lambda rules: _SlotsAnew(rules, values, steps))


def _inject_gradients(finding: Finding, setup: Setup) -> injection.Change | None:
    constants = finding.constants
    reading = Reading(constants["lag"], constants["steps"])
    return earlier_gradients(reading, constants["start"]) if constants["start"] else None


def _inject_slots(finding: Finding, setup: Setup) -> injection.Change:
    return _slots_anew(dict(finding.constants["slots"]), finding.steps)


_with_momentum = injection.with_fields(optimizer=optimizers.Momentum(), learning_rate=schedules.Fixed(0.01))
_with_adam = injection.with_fields(optimizer=optimizers.Adam())

#: All criteria of this file, for a criterion that applies only if none of them does.
CRITERIA = (stale_gradient, slots_start_anew)

CAUSES = (
    Cause(
        id="STALE_GRADIENT",
        stage=stages.WEIGHTS,
        title="updates read gradients of other steps",
        signature="Slots and weights are the rule's for an earlier step's gradient, or for the mean of the last ones",
        why="Asynchronous or pipelined updates, a buffer of accumulated gradients that is not emptied, or an update "
        "that runs before its step's all-reduce.",
        fix="Apply each step's combined gradient in that step.",
        criterion=stale_gradient,
        change=_inject_gradients,
        faults=(
            Fault("gradient_of_the_step_before", earlier_gradients(Reading(1, 1), ZEROS)),
            Fault("mean_of_the_last_two_gradients", earlier_gradients(Reading(0, 2), ZEROS)),
        ),
        by_step=False,
        remembers=True,
    ),
    Cause(
        id="SLOTS_START_ANEW",
        stage=stages.SLOTS,
        title="the optimizer's slots start anew during training",
        signature="In some steps the rule gives the new slots from initial values, not from those that the step before "
        "left",
        why="The optimizer, or the train step, is made anew: for each epoch, where the learning rate changes, or where "
        "training goes on from a checkpoint of weights alone.",
        fix="Keep one optimizer for all of the training, and save its slots.",
        criterion=slots_start_anew,
        change=_inject_slots,
        faults=(
            Fault("momentum_starts_anew", _slots_anew({"momentum": 0.0}, (4,)), _with_momentum),
            Fault("adam_starts_anew", _slots_anew({"m": 0.0, "v": 0.0}, (4, 8)), _with_adam),
        ),
        by_step=False,
    ),
)
