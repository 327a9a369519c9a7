"""Causes in what a step makes of the slots: Keras's form of momentum, another beta or decay."""

from __future__ import annotations

import dataclasses

import numpy as np

from parity.causes import injection
from parity.causes.cause import HIGH, Cause, Fault, Finding
from parity.causes.wording import format_number
from parity.comparison import stages
from parity.comparison.fits import near, spread
from workloads import optimizers, schedules


def _momentum_fits(evidence):
    sides = evidence.both_updates
    if sides is None or not isinstance(evidence.context.optimizer, optimizers.Momentum):
        return None
    left, right = (side.slots["momentum"] for side in sides)
    rates = {step.step: step.learning_rate for step in sides[1].steps}
    return left, right, rates


def _keeps_rate(fits, rates):
    """Whether a slot takes up -rate times the gradient: Keras's convention."""
    known = [fit for fit in fits if fit.gain_size > 1e-3 and fit.residual < 1e-3]
    return bool(known) and all(near(fit.gain, -rates[fit.step], 1e-3) for fit in known)


def momentum_form(evidence):
    found = _momentum_fits(evidence)
    if found is None:
        return None
    left, right, rates = found
    m = evidence.context.optimizer.momentum
    changes = [f for f in right if f.step - 1 in rates and not near(rates[f.step], rates[f.step - 1], 1e-6)]
    if _keeps_rate(right, rates) and changes:
        return _rate_inside(evidence, rates)
    odd = [f for f in changes if f.old_size > 1e-3 and near(f.keep, m * rates[f.step - 1] / rates[f.step], 2e-3)]
    if not odd or len(odd) < len([f for f in changes if f.old_size > 1e-3]):
        return None
    return _rate_inside(evidence, rates, odd[0].keep)


def _rate_inside(evidence, rates, keep=None):
    m = evidence.context.optimizer.momentum
    return Finding(
        f"The port's momentum keeps the learning rate inside the slot (v = {m:g} v - rate g), so a change of the rate "
        "acts on new gradients only; legacy's acts on all of it.",
        HIGH,
        "the rate changes {} times; {}".format(
            len(set(rates.values())) - 1,
            f"there the slot keeps {format_number(keep)} of itself in legacy's terms"
            if keep is not None
            else "the slot takes up -rate times the gradient",
        ),
    )


def slot_convention(evidence):
    found = _momentum_fits(evidence)
    if found is None:
        return None
    left, right, rates = found
    if not _keeps_rate(right, rates) or _keeps_rate(left, rates) or len(set(rates.values())) > 1:
        return None
    return Finding(
        f"The port's momentum slot is -rate times legacy's (v = -{next(iter(rates.values())):g} a): Keras's convention, the same path while the "
        "rate is constant.",
        HIGH,
        f"the slot takes up {format_number(right[0].gain)} times the gradient in every step",
    )


def constants(evidence):
    sides = evidence.both_updates
    if sides is None:
        return None
    rates = {step.step: step.learning_rate for step in sides[1].steps}
    slot_rules = evidence.context.optimizer.slot_rules()
    for slot in sides[1].slots:
        a, b = (_constant(side.slots[slot], not slot_rules[slot].rescaled) for side in sides)
        if not (np.isfinite(a) and np.isfinite(b)) or near(a, b, 2e-3) or near(1 - a, 1 - b, 2e-3):
            continue
        if slot_rules[slot].rescaled and (momentum_form(evidence) or _keeps_rate(sides[1].slots[slot], rates)):
            continue
        return Finding(
            f"Slot {slot} keeps {format_number(b)} of itself in each of the port's steps and {format_number(a)} in legacy's: another {slot_rules[slot].constant}.",
            HIGH,
            f"least-squares fit of the slot by its old value and the gradient, in {len(sides[1].steps)} steps",
        )
    return None


def _constant(fits, averaging):
    """What a slot keeps of itself, from the steps in which that can be told; not-a-number if they do not agree.

    Args:
      averaging: whether what it takes up is one minus what it keeps, so that an empty slot tells too.
    """
    known = [f for f in fits if f.residual < 1e-3]
    keeps = [f.keep for f in known if f.old_size > 1e-2 and f.gain_size > 1e-6]
    gains = [1 - f.gain for f in known if f.old_size <= 1e-2]
    values = keeps or (gains if averaging else [])
    return float(np.median(values)) if values and spread(values) < 1e-2 else float("nan")


def _optimizer(**changes):
    return injection.in_workload(lambda job: {"optimizer": dataclasses.replace(job.workload.optimizer, **changes)})


def _raw_slots(record):
    record.state.slots = {
        name: value * np.asarray(-float(record.learning_rate), value.dtype) if name.endswith("/momentum") else value
        for name, value in record.state.slots.items()
    }


_adam = injection.with_fields(optimizer=optimizers.Adam())


_momentum = injection.with_fields(optimizer=optimizers.Momentum(), learning_rate=schedules.Fixed(0.01))


_momentum_decaying = injection.with_fields(
    optimizer=optimizers.Momentum(), learning_rate=schedules.PiecewiseConstant((3,), (0.01, 0.001))
)


_rmsprop = injection.with_fields(optimizer=optimizers.RMSProp(), learning_rate=schedules.Fixed(1e-3))


#: All criteria of this file, for a criterion that applies only if none of them does.
CRITERIA = (momentum_form, slot_convention, constants)

CAUSES = (
    Cause(
        "MOMENTUM_FORM",
        stages.SLOTS,
        "the learning rate is inside the momentum",
        "equal until the rate changes; then the update is up to the rates' ratio too large, decaying as m^k",
        "1.x: a = m a + g, w -= rate a. Keras: v = m v - rate g, w += v. The same while the rate is constant.",
        "Keep the 1.x kernel, or rescale the slots when the rate changes.",
        momentum_form,
        (Fault("keras_momentum", injection.in_options(update_rules="keras"), _momentum_decaying),),
        "R13",
    ),
    Cause(
        "SLOT_CONVENTION",
        stages.SLOTS,
        "the momentum slot has another sign and scale",
        "slot ratio -rate, weights equal",
        "Keras's slot is v = -rate a.",
        "Map slots before comparing or converting them: a = -v / rate.",
        slot_convention,
        (Fault("momentum_slots_as_keras_has_them", injection.in_records(_raw_slots), _momentum),),
        "R14",
        bug=False,
    ),
    Cause(
        "OPTIMIZER_CONSTANT",
        stages.SLOTS,
        "another momentum, beta or decay",
        "a slot keeps another part of itself",
        "Defaults differ, or a constant was not carried over.",
        "Give the port legacy's constants.",
        constants,
        (
            Fault("other_beta1", _optimizer(beta1=0.8), _adam),
            Fault("other_beta2", _optimizer(beta2=0.99), _adam),
            Fault("other_momentum", _optimizer(momentum=0.8), _momentum),
            Fault("other_decay", _optimizer(decay=0.8), _rmsprop),
        ),
    ),
)
