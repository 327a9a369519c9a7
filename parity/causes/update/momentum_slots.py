"""Causes in the momentum slot: it holds the learning rate, as Keras's does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parity.causes.basics import injection
from parity.causes.basics.cause import HIGH, Cause, Fault, Finding
from parity.causes.basics.wording import format_factor
from parity.comparison import stages
from parity.comparison.fits import near
from workloads import optimizers, schedules

if TYPE_CHECKING:
    from parity.comparison.setup import Setup
    from parity.diagnosis.evidence import Evidence
    from parity.diagnosis.updates import SlotFit, Updates
    from workloads.program import State, StepRecord

#: A slot's coefficients are read from steps whose fit leaves less than this part over.
MOST_RESIDUAL = 1e-3

#: Slots keep the same part of themselves within this part of it.
SAME_KEEP = 2e-3


class _MomentumSlots(NamedTuple):
    """The momentum slot on both sides.

    Attributes:
      momentum: legacy's constant.
      left, right: fits of the slot, one a step.
      learning_rates: {step: the port's learning rate}.
    """

    momentum: float
    left: list[SlotFit]
    right: list[SlotFit]
    learning_rates: dict[int, float]


def momentum_form(evidence: Evidence) -> Finding | None:
    """Recognizes MOMENTUM_FORM: the port's slot holds the learning rate, and the learning rate changes."""
    slots = _momentum_slots(evidence)
    if slots is None:
        return None
    rates = slots.learning_rates
    changes = [f for f in slots.right if f.step - 1 in rates and not near(rates[f.step], rates[f.step - 1], 1e-6)]
    if adds_learning_rate(slots.right, rates) and changes:
        return _rate_inside(slots, "the slot takes up -rate times the gradient", {"shown": "keras"})
    known = [f for f in changes if f.old_size > 1e-3 and rates[f.step] and rates[f.step - 1]]
    ratios = {fit.step: rates[fit.step - 1] / rates[fit.step] for fit in known}
    if all(near(ratio, 1, 2 * SAME_KEEP) for ratio in ratios.values()):
        return None  # a slot without the learning rate keeps as much
    if not all(near(fit.keep, slots.momentum * ratios[fit.step], SAME_KEEP) for fit in known):
        return None
    reason = f"there the slot keeps {format_factor(known[0].keep)} of itself in legacy's terms"
    return _rate_inside(slots, reason, {"shown": "1.x"})


def _rate_inside(slots: _MomentumSlots, reason: str, constants: Mapping[str, str]) -> Finding:
    return Finding(
        f"The port's momentum slot holds the learning rate (v = {slots.momentum:g} v - rate g): when the rate changes, "
        "the new one applies to new gradients only, and in legacy to the whole slot.",
        HIGH,
        f"the learning rate changes {len(set(slots.learning_rates.values())) - 1} times; {reason}",
        constants,
    )


def slot_convention(evidence: Evidence) -> Finding | None:
    """Recognizes SLOT_CONVENTION: the port's slot is -rate times legacy's, and the learning rate is constant."""
    slots = _momentum_slots(evidence)
    if slots is None:
        return None
    rates = slots.learning_rates
    if not adds_learning_rate(slots.right, rates) or adds_learning_rate(slots.left, rates):
        return None
    if len(set(rates.values())) > 1:
        return None  # `MOMENTUM_FORM`
    return Finding(
        f"The port's momentum slot is -rate times legacy's (v = -{next(iter(rates.values())):g} a), which is Keras's "
        "convention: the weights are the same while the learning rate is constant.",
        HIGH,
        f"the slot takes up {format_factor(slots.right[0].gain)} times the gradient in every step",
        {"learning_rate": next(iter(rates.values()))},
    )


def _momentum_slots(evidence: Evidence) -> _MomentumSlots | None:
    sides, optimizer = evidence.both_updates, evidence.context.optimizer
    if sides is None or not isinstance(optimizer, optimizers.Momentum):
        return None
    left, right = sides
    return _MomentumSlots(optimizer.momentum, left.slots["momentum"], right.slots["momentum"], learning_rates_of(right))


def learning_rates_of(updates: Updates) -> dict[int, float]:
    """Returns {step: learning rate}."""
    return {step.step: step.learning_rate for step in updates.steps}


def adds_learning_rate(fits: Sequence[SlotFit], learning_rates: Mapping[int, float]) -> bool:
    """Whether a slot takes up -rate times the gradient, which is Keras's convention."""
    known = [fit for fit in fits if fit.gain_size > 1e-3 and fit.residual < MOST_RESIDUAL]
    return bool(known) and all(near(fit.gain, -learning_rates[fit.step], 1e-3) for fit in known)


def _hold_learning_rate(record: StepRecord) -> None:
    """Shows momentum slots as Keras has them: -rate times 1.x's."""
    if record.learning_rate is None:
        raise ValueError(f"step {record.step}: the record shows no learning rate")
    rate = float(record.learning_rate)
    record.state.slots = {
        name: value * np.asarray(-rate, value.dtype) if name.endswith("/momentum") else value
        for name, value in record.state.slots.items()
    }


def _inject_keras_momentum(finding: Finding, setup: Setup) -> injection.Change:
    """Injects Keras's momentum; its slots are brought into 1.x's terms where the port's record shows them so."""
    injected = injection.in_options(update_rules="keras")
    return injected if finding.constants["shown"] == "1.x" else injected + injection.in_records(_hold_learning_rate)


def _inject_convention(finding: Finding, setup: Setup) -> injection.Change:
    rate = finding.constants["learning_rate"]

    def restore(state: State, setup: Setup) -> None:
        state.slots = {
            name: value / np.asarray(-rate, value.dtype) if name.endswith("/momentum") else value
            for name, value in state.slots.items()
        }

    return injection.in_records(_hold_learning_rate, restore)


_with_momentum = injection.with_fields(optimizer=optimizers.Momentum(), learning_rate=schedules.Fixed(0.01))
_with_falling_learning_rate = injection.with_fields(
    optimizer=optimizers.Momentum(), learning_rate=schedules.PiecewiseConstant((3,), (0.01, 0.001))
)

#: All criteria of this file, for a criterion that applies only if none of them does.
CRITERIA = (momentum_form, slot_convention)

CAUSES = (
    Cause(
        id="MOMENTUM_FORM",
        stage=stages.SLOTS,
        title="the learning rate is inside the momentum slot",
        signature="The weights are equal until the learning rate changes; then the update is too large by up to the "
        "ratio of the rates, and the error decays as m^k",
        why="1.x computes a = m a + g, w -= rate a; Keras computes v = m v - rate g, w += v. Both are the same while "
        "the rate is constant.",
        fix="Keep the 1.x kernel, or rescale the slots when the learning rate changes.",
        criterion=momentum_form,
        change=_inject_keras_momentum,
        faults=(Fault("keras_momentum", injection.in_options(update_rules="keras"), _with_falling_learning_rate),),
        pitfall="R13",
        by_step=False,
    ),
    Cause(
        id="SLOT_CONVENTION",
        stage=stages.SLOTS,
        title="the momentum slot has another sign and scale",
        signature="The port's slot is -rate times legacy's, and the weights are equal",
        why="Keras's slot is v = -rate a.",
        fix="Rescale slots before comparing or converting them: a = -v / rate.",
        criterion=slot_convention,
        change=_inject_convention,
        faults=(Fault("momentum_slots_as_keras_has_them", injection.in_records(_hold_learning_rate), _with_momentum),),
        pitfall="R14",
        bug=False,
    ),
)
