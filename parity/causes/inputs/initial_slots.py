"""Causes in the values that the optimizer's slots start from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parity.causes.basics import injection
from parity.causes.basics.cause import HIGH, Cause, Fault, Finding
from parity.comparison import stages
from workloads import optimizers, schedules

if TYPE_CHECKING:
    from parity.comparison.setup import Setup
    from parity.diagnosis.evidence import Evidence
    from workloads.program import State

#: Slots with causes of their own: `RMSPROP_INIT_ONES`, and powers of the betas, which start at `OPTIMIZER_CONSTANT`s.
OWN_CAUSE = ("rms", "beta1_power", "beta2_power")


def rmsprop_init_ones(evidence: Evidence) -> Finding | None:
    """Recognizes RMSPROP_INIT_ONES: RMSProp's mean square starts at another constant."""
    values = evidence.initial.slots.get("rms")
    if values is None:
        return None
    legacy, port = values
    return Finding(
        f"RMSProp's mean square starts at {legacy:g} in legacy and at {port:g} in the port: the first updates differ "
        "by a factor of about sqrt(1 / ((1 - decay) g^2)).",
        HIGH,
        "read from the slots before the first step",
        {"slots": (("rms", port),)},
    )


def slot_start(evidence: Evidence) -> Finding | None:
    """Recognizes SLOT_START: a slot starts at another constant."""
    values = {slot: pair for slot, pair in evidence.initial.slots.items() if slot not in OWN_CAUSE}
    if not values:
        return None
    starts = [
        f"slot {slot} starts at {legacy:g} in legacy and at {port:g} in the port"
        for slot, (legacy, port) in values.items()
    ]
    constants = {"slots": tuple((slot, port) for slot, (_, port) in values.items())}
    return Finding("; ".join(starts) + ".", HIGH, "read from the slots before the first step", constants)


def ckpt_slots_lost(evidence: Evidence) -> Finding | None:
    """Recognizes CKPT_SLOTS_LOST: the weights are a checkpoint's and the slots are a new optimizer's."""
    start = evidence.initial
    if not start.reset or start.weights:
        return None
    constants = ", ".join(f"{slot} = {value:g}" for slot, value in start.reset_to.items())
    return Finding(
        f"The weights are legacy's of step {start.step}, but {len(start.reset)} slots have the values of a new "
        f"optimizer ({constants}): the checkpoint's slots were not restored.",
        HIGH,
        "weights have identical bits, and each of these slots is one constant",
        {"slots": tuple(start.reset_to.items())},
        variables=tuple(start.reset),
    )


def _inject_slots(finding: Finding, setup: Setup) -> injection.Change:
    """Starts the slots at the finding's constants: the named ones, or all of these kinds."""
    values = dict(finding.constants["slots"])

    def change(state: State, setup: Setup) -> None:
        for name, array in state.slots.items():
            kind = name.rsplit("/", 1)[-1]
            if kind in values and (not finding.variables or name in finding.variables):
                state.slots[name] = np.full_like(array, values[kind])

    return injection.in_first_state(change)


def _fill_slots(slot: str, value: float = 0.0) -> injection.Change:
    """Starts a slot of every weight at one value."""

    def change(state: State, setup: Setup) -> None:
        state.slots = {
            name: np.full_like(array, value) if name.endswith("/" + slot) else array
            for name, array in state.slots.items()
        }

    return injection.in_first_state(change)


def _reset_slots(state: State, setup: Setup) -> None:
    """Gives all slots and accumulators the values of a new optimizer."""
    optimizer = setup.job.workload.optimizer
    initial = {**optimizer.slots(), **optimizer.accumulators()}
    state.slots = {name: np.full_like(array, initial[name.rsplit("/", 1)[-1]]) for name, array in state.slots.items()}


_with_adam = injection.with_fields(optimizer=optimizers.Adam())
_with_momentum = injection.with_fields(optimizer=optimizers.Momentum(), learning_rate=schedules.Fixed(0.01))
_with_rmsprop = injection.with_fields(optimizer=optimizers.RMSProp(), learning_rate=schedules.Fixed(1e-3))
_with_adagrad = injection.with_fields(optimizer=optimizers.Adagrad(), learning_rate=schedules.Fixed(1e-2))

CAUSES = (
    Cause(
        id="RMSPROP_INIT_ONES",
        stage=stages.INITIAL,
        title="RMSProp's mean square starts at ones in 1.x and at zeros in Keras",
        signature="Slot rms is 1 in legacy and 0 in the port before the first step; the first updates differ by a "
        "factor of hundreds, later ones less and less",
        why="tf.train.RMSPropOptimizer starts its mean square at ones. Keras's starts at zeros, and has epsilon 1e-7 "
        "instead of 1e-10.",
        fix="Keep the 1.x kernel, or set Keras's velocities to ones and its epsilon to 1e-10 before the first step.",
        criterion=rmsprop_init_ones,
        change=_inject_slots,
        faults=(Fault("rmsprop_from_zeros", _fill_slots("rms"), _with_rmsprop),),
        pitfall="R11",
    ),
    Cause(
        id="SLOT_START",
        stage=stages.INITIAL,
        title="a slot starts at another value",
        signature="Before the first step a slot is one constant on each side, and the constants differ",
        why="Libraries have different defaults (Adagrad's initial accumulator, PyTorch's zeros).",
        fix="Give the port legacy's initial value.",
        criterion=slot_start,
        change=_inject_slots,
        faults=(Fault("adagrad_from_zeros", _fill_slots("accumulator", 1e-3), _with_adagrad),),
    ),
    Cause(
        id="CKPT_SLOTS_LOST",
        stage=stages.INITIAL,
        title="the optimizer's slots were not restored",
        signature="The weights are equal and the port's slots are those of a new optimizer, so the first update is a "
        "cold start",
        why="Name-based checkpoints do not match object-based optimizers: weights are loaded by their shape, and slots "
        "are silently left out. A step count of zero also repeats Adam's bias correction.",
        fix="Convert the slots and the step too (python -m legacy.convert); call assert_consumed() on restore.",
        criterion=ckpt_slots_lost,
        change=_inject_slots,
        faults=(
            Fault("slots_not_restored", injection.in_first_state(_reset_slots), _with_momentum, start=3),
            Fault("adam_slots_not_restored", injection.in_first_state(_reset_slots), _with_adam, start=3),
        ),
        pitfall="R31",
    ),
)
