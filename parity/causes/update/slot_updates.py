"""Causes in the new values of the slots: Keras's form of momentum, another beta or decay."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parity.causes.basics import injection
from parity.causes.basics.cause import HIGH, Cause, Fault, Finding
from parity.causes.basics.wording import decay_of_share, format_number
from parity.comparison import stages
from parity.comparison.fits import near, spread
from workloads import optimizers, schedules

if TYPE_CHECKING:
    from parity.comparison.setup import Setup
    from parity.diagnosis.evidence import Evidence
    from parity.diagnosis.updates import SlotFit, Updates
    from workloads.optimizers.base import SlotRule
    from workloads.program import State, StepRecord

#: A slot's coefficients are read from steps whose fit leaves less than this part over.
MOST_RESIDUAL = 1e-3

#: Two slots keep the same part p of themselves if p, and 1 - p, agree within this part, or within `LEAST_PART`.
SAME_PART, LEAST_PART = 2e-3, 2e-6

#: An average's coefficients sum to one within this part, where both addends are at least this part of the slot.
SAME_SUM, LEAST_SIZE = 1e-4, 1e-3


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
    if _adds_learning_rate(slots.right, rates) and changes:
        return _rate_inside(slots, "the slot takes up -rate times the gradient", {"shown": "keras"})
    known = [f for f in changes if f.old_size > 1e-3 and rates[f.step] and rates[f.step - 1]]
    if not known:
        return None
    for fit in known:
        if not near(fit.keep, slots.momentum * rates[fit.step - 1] / rates[fit.step], 2e-3):
            return None
    reason = f"there the slot keeps {format_number(known[0].keep)} of itself in legacy's terms"
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
    if not _adds_learning_rate(slots.right, rates) or _adds_learning_rate(slots.left, rates):
        return None
    if len(set(rates.values())) > 1:
        return None  # `MOMENTUM_FORM`
    return Finding(
        f"The port's momentum slot is -rate times legacy's (v = -{next(iter(rates.values())):g} a), which is Keras's "
        "convention: the weights are the same while the learning rate is constant.",
        HIGH,
        f"the slot takes up {format_number(slots.right[0].gain)} times the gradient in every step",
        {"learning_rate": next(iter(rates.values()))},
    )


def _momentum_slots(evidence: Evidence) -> _MomentumSlots | None:
    sides, optimizer = evidence.both_updates, evidence.context.optimizer
    if sides is None or not isinstance(optimizer, optimizers.Momentum):
        return None
    left, right = sides
    return _MomentumSlots(optimizer.momentum, left.slots["momentum"], right.slots["momentum"], _learning_rates(right))


def _learning_rates(updates: Updates) -> dict[int, float]:
    return {step.step: step.learning_rate for step in updates.steps}


def _adds_learning_rate(fits: Sequence[SlotFit], learning_rates: Mapping[int, float]) -> bool:
    """Whether a slot takes up -rate times the gradient, which is Keras's convention."""
    known = [fit for fit in fits if fit.gain_size > 1e-3 and fit.residual < MOST_RESIDUAL]
    return bool(known) and all(near(fit.gain, -learning_rates[fit.step], 1e-3) for fit in known)


def optimizer_constant(evidence: Evidence) -> Finding | None:
    """Recognizes OPTIMIZER_CONSTANT: a slot keeps another part of itself in each step."""
    sides, optimizer = evidence.both_updates, evidence.context.optimizer
    if sides is None or optimizer is None:
        return None
    left, right = sides
    for slot, rule in optimizer.slot_rules().items():
        legacy, port = (kept_part(side.slots[slot], averaging=not rule.rescaled) for side in (left, right))
        if not (np.isfinite(legacy) and np.isfinite(port)):
            continue
        noise = max(fit.residual for side in (left, right) for fit in side.slots[slot] if fit.residual < MOST_RESIDUAL)
        if abs(legacy - port) <= SAME_PART * min(abs(legacy), abs(1 - legacy)) + max(LEAST_PART, 10 * noise):
            continue
        if _is_average(rule) and not all(map(_sums_to_one, right.slots[slot])):
            continue  # no constant makes it: whatever is kept, the rest is taken up
        if rule.rescaled and (
            momentum_form(evidence) or _adds_learning_rate(right.slots[slot], _learning_rates(right))
        ):
            continue
        return Finding(
            f"Slot {slot} keeps {format_number(port)} of itself in each of the port's steps and "
            f"{format_number(legacy)} in each of legacy's: another {rule.constant}.",
            HIGH,
            f"least-squares fit of the slot by its old value and the gradient, in {len(right.steps)} steps",
            {rule.constant: decay_of_share(1 - port)},
        )
    return None


def _is_average(rule: SlotRule) -> bool:
    """Whether a slot is an exponential average: it keeps a part d of itself and takes up 1 - d of the new term."""
    return abs(rule.keep + rule.gain - 1) <= SAME_SUM


def _sums_to_one(fit: SlotFit) -> bool:
    """Whether the fitted parts that a slot keeps and takes up sum to one, within the error of the fit."""
    if fit.residual >= MOST_RESIDUAL or min(fit.old_size, fit.gain_size) < LEAST_SIZE:
        return True
    return abs(fit.keep + fit.gain - 1) <= SAME_SUM + 20 * fit.residual


def kept_part(fits: Sequence[SlotFit], averaging: bool) -> float:
    """Returns the part of itself that a slot keeps in each step, from the steps that determine it.

    Args:
      fits: of one slot, one a step.
      averaging: whether the slot takes up one minus the part that it keeps, so that an empty slot determines it too.

    Returns:
      the median; NaN if no step determines it, or if the steps do not agree.
    """
    known = [fit for fit in fits if fit.residual < MOST_RESIDUAL]
    kept = [fit.keep for fit in known if fit.old_size > 1e-2 and fit.gain_size > 1e-6]
    if not kept and averaging:
        kept = [1 - fit.gain for fit in known if fit.old_size <= 1e-2]
    return float(np.median(kept)) if kept and spread(kept) < 1e-2 else float("nan")


def change_optimizer(**constants: Any) -> injection.Change:
    """Changes constants of the optimizer on the modern side."""
    return injection.in_workload(lambda job: {"optimizer": dataclasses.replace(job.workload.optimizer, **constants)})


def _hold_learning_rate(record: StepRecord) -> None:
    """Shows momentum slots as Keras has them: -rate times 1.x's."""
    if record.learning_rate is None:
        raise ValueError(f"step {record.step}: the record shows no learning rate")
    rate = float(record.learning_rate)
    record.state.slots = {
        name: value * np.asarray(-rate, value.dtype) if name.endswith("/momentum") else value
        for name, value in record.state.slots.items()
    }


def _plant_keras_momentum(finding: Finding, setup: Setup) -> injection.Change:
    """Plants Keras's momentum; its slots are brought into 1.x's terms where the port's record shows them so."""
    planted = injection.in_options(update_rules="keras")
    return planted if finding.constants["shown"] == "1.x" else planted + injection.in_records(_hold_learning_rate)


def _plant_convention(finding: Finding, setup: Setup) -> injection.Change:
    rate = finding.constants["learning_rate"]

    def restore(state: State, setup: Setup) -> None:
        state.slots = {
            name: value / np.asarray(-rate, value.dtype) if name.endswith("/momentum") else value
            for name, value in state.slots.items()
        }

    return injection.in_records(_hold_learning_rate, restore)


def plant_constant(finding: Finding, setup: Setup) -> injection.Change | None:
    """Plants the optimizer's constants that the finding names, if the optimizer has them all."""
    known = {field.name for field in dataclasses.fields(setup.job.workload.optimizer)}
    if not finding.constants or not set(finding.constants) <= known:
        return None
    return change_optimizer(**finding.constants) + injection.in_first_state(_start_accumulators)


def _start_accumulators(state: State, setup: Setup) -> None:
    """Gives a new run's powers of the optimizer's constants their first values."""
    if state.step == 0:
        for name, value in setup.job.workload.optimizer.accumulators().items():
            state.slots[name] = np.asarray(value, np.float32)


_with_adam = injection.with_fields(optimizer=optimizers.Adam())
_with_momentum = injection.with_fields(optimizer=optimizers.Momentum(), learning_rate=schedules.Fixed(0.01))
_with_falling_learning_rate = injection.with_fields(
    optimizer=optimizers.Momentum(), learning_rate=schedules.PiecewiseConstant((3,), (0.01, 0.001))
)
_with_rmsprop = injection.with_fields(optimizer=optimizers.RMSProp(), learning_rate=schedules.Fixed(1e-3))

#: All criteria of this file, for a criterion that applies only if none of them does.
CRITERIA = (momentum_form, slot_convention, optimizer_constant)

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
        plant=_plant_keras_momentum,
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
        plant=_plant_convention,
        faults=(Fault("momentum_slots_as_keras_has_them", injection.in_records(_hold_learning_rate), _with_momentum),),
        pitfall="R14",
        bug=False,
    ),
    Cause(
        id="OPTIMIZER_CONSTANT",
        stage=stages.SLOTS,
        covers=(stages.SLOTS,),
        title="another momentum, beta or decay",
        signature="A slot keeps another part of itself in each step",
        why="Libraries have different defaults, or a constant was not carried over.",
        fix="Give the port legacy's constants.",
        criterion=optimizer_constant,
        plant=plant_constant,
        faults=(
            Fault("other_beta1", change_optimizer(beta1=0.8), _with_adam),
            Fault("other_beta2", change_optimizer(beta2=0.99), _with_adam),
            Fault("other_momentum", change_optimizer(momentum=0.8), _with_momentum),
            Fault("other_decay", change_optimizer(decay=0.8), _with_rmsprop),
            Fault("slightly_other_beta2", change_optimizer(beta2=0.9995), _with_adam),
        ),
        by_variable=True,
    ),
)
