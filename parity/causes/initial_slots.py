"""Causes in what the optimizer's slots start from."""

from __future__ import annotations

import numpy as np

from parity.causes import injection
from parity.causes.cause import HIGH, Cause, Fault, Finding
from parity.comparison import stages
from workloads import optimizers, schedules


def rmsprop_ones(evidence):
    values = evidence.initial.slots.get("rms")
    if values is None:
        return None
    return Finding(
        "RMSProp's mean square starts at {:g} in legacy and at {:g} in the port: the first updates differ by a factor "
        "of sqrt(1 / (1 - decay) g^2) or so.".format(*values),
        HIGH,
        "read from the slots before the first step",
    )


def slot_start(evidence):
    of_constants = ("rms", "beta1_power", "beta2_power")  # the powers start at the betas: `OPTIMIZER_CONSTANT`
    values = {slot: pair for slot, pair in evidence.initial.slots.items() if slot not in of_constants}
    if not values:
        return None
    return Finding(
        "; ".join("slot {} starts at {:g} in legacy and at {:g} in the port".format(s, *p) for s, p in values.items())
        + ".",
        HIGH,
        "read from the slots before the first step",
    )


def slots_lost(evidence):
    start = evidence.initial
    if not start.reset or start.weights:
        return None
    return Finding(
        "The weights are legacy's of step {} and {} slots are as in a new optimizer ({}): the checkpoint's slots were "
        "not restored.".format(
            start.step, len(start.reset), ", ".join("{} = {:g}".format(*item) for item in start.reset_to.items())
        ),
        HIGH,
        "weights have identical bits, the slots are one constant",
    )


def _zero_slots(kind, value=0.0):
    def change(state, setup):
        state.slots = {
            name: np.full_like(array, value) if name.endswith("/" + kind) else array
            for name, array in state.slots.items()
        }

    return change


def _forget_slots(state, setup):
    rule = setup.job.workload.optimizer
    start = {**rule.slots(), **rule.accumulators()}
    state.slots = {name: np.full_like(array, start[name.rsplit("/", 1)[-1]]) for name, array in state.slots.items()}


_adam = injection.with_fields(optimizer=optimizers.Adam())


_momentum = injection.with_fields(optimizer=optimizers.Momentum(), learning_rate=schedules.Fixed(0.01))


_rmsprop = injection.with_fields(optimizer=optimizers.RMSProp(), learning_rate=schedules.Fixed(1e-3))


_adagrad = injection.with_fields(optimizer=optimizers.Adagrad(), learning_rate=schedules.Fixed(1e-2))


CAUSES = (
    Cause(
        "RMSPROP_INIT_ONES",
        stages.INITIAL,
        "RMSProp's mean square starts at ones in 1.x and at zeros in Keras",
        "slot rms is 1 against 0 before the first step; step-1 updates differ by hundreds, then less and less",
        "tf.train.RMSPropOptimizer starts its mean square at ones; Keras's at zeros, with epsilon 1e-7 for 1e-10.",
        "Keep the 1.x kernel, or set Keras's velocities to ones and epsilon to 1e-10 before the first step.",
        rmsprop_ones,
        (Fault("rmsprop_from_zeros", injection.in_first_state(_zero_slots("rms")), _rmsprop),),
        "R11",
    ),
    Cause(
        "SLOT_START",
        stages.INITIAL,
        "a slot starts at another value",
        "a slot is one constant on each side before the first step, and they differ",
        "Defaults differ between libraries (Adagrad's initial accumulator, PyTorch's zeros).",
        "Give the port legacy's initial value.",
        slot_start,
        (Fault("adagrad_from_zeros", injection.in_first_state(_zero_slots("accumulator", 1e-3)), _adagrad),),
    ),
    Cause(
        "CKPT_SLOTS_LOST",
        stages.INITIAL,
        "the optimizer's slots were not restored",
        "weights equal, the port's slots are those of a new optimizer; the first update is a cold start",
        "Name-based checkpoints do not match object-based optimizers: weights load by shape, slots silently do not. A "
        "step count of zero also replays Adam's bias correction.",
        "Convert slots and the step too (python -m legacy.convert); assert_consumed() on restore.",
        slots_lost,
        (
            Fault("slots_not_restored", injection.in_first_state(_forget_slots), _momentum, start=3),
            Fault("adam_slots_not_restored", injection.in_first_state(_forget_slots), _adam, start=3),
        ),
        "R31",
    ),
)
