"""Causes in the new values of the slots: another momentum, beta or decay."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from parity.causes.basics import injection
from parity.causes.basics.cause import HIGH, MEDIUM, Cause, Fault, Finding
from parity.causes.basics.wording import decay_of_share, format_factor
from parity.causes.update.momentum_slots import (
    MOST_RESIDUAL,
    adds_learning_rate,
    learning_rates_of,
    momentum_form,
    slot_convention,
)
from parity.causes.update.update_changes import change_optimizer
from parity.comparison import stages
from parity.comparison.fits import spread
from workloads import optimizers, schedules
from workloads.support.wording import counted

if TYPE_CHECKING:
    from parity.comparison.setup import Setup
    from parity.diagnosis.evidence import Evidence
    from parity.diagnosis.updates import SlotFit
    from workloads.optimizers.base import SlotRule
    from workloads.program import State

#: Two slots keep the same part p of themselves if p, and 1 - p, agree within this part, or within `LEAST_PART`.
SAME_PART, LEAST_PART = 2e-3, 2e-6

#: A constant changes with the steps if that shows in so many, and at least so many are another.
LEAST_STEPS, LEAST_CHANGED = 3, 2

#: An average's coefficients sum to one within this part, where both addends are at least this part of the slot.
SAME_SUM, LEAST_SIZE = 1e-4, 1e-3


def optimizer_constant(evidence: Evidence) -> Finding | None:
    """Recognizes OPTIMIZER_CONSTANT: a slot keeps another share of its old value in each step."""
    return _other_constant(evidence) or constant_in_time(evidence)


def _other_constant(evidence: Evidence) -> Finding | None:
    sides, optimizer = evidence.both_updates, evidence.context.optimizer
    if sides is None or optimizer is None:
        return None
    left, right = sides
    found: dict[str, float] = {}
    sentences = []
    for slot, rule in optimizer.slot_rules().items():
        legacy, port = (kept_part(side.slots[slot], averaging=not rule.rescaled) for side in (left, right))
        if not (np.isfinite(legacy) and np.isfinite(port)):
            continue
        noise = max(fit.residual for side in (left, right) for fit in side.slots[slot] if fit.residual < MOST_RESIDUAL)
        if abs(legacy - port) <= SAME_PART * min(abs(legacy), abs(1 - legacy)) + max(LEAST_PART, 10 * noise):
            continue
        if abs(1 - port) <= LEAST_PART:
            continue  # the slot takes up nothing: no constant does that
        if _is_average(rule) and not all(map(_sums_to_one, right.slots[slot])):
            continue  # no constant makes it: whatever is kept, the rest is taken up
        if rule.rescaled and (
            momentum_form(evidence) or adds_learning_rate(right.slots[slot], learning_rates_of(right))
        ):
            continue
        found[rule.constant] = decay_of_share(1 - port)
        sentences.append(
            f"Slot {slot} keeps {format_factor(port)} of itself in each of the port's steps and "
            f"{format_factor(legacy)} in each of legacy's: another {rule.constant}."
        )
    if not found:
        return None
    because = f"least-squares fit of the slot by its old value and the gradient, in {counted(len(right.steps), 'step')}"
    return Finding(" ".join(sentences), HIGH, because, found)


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
    kept = _kept_parts(fits, averaging)
    if kept and all(abs(part) <= LEAST_PART for part in kept):
        return 0.0
    return float(np.median(kept)) if kept and spread(kept) < 1e-2 else float("nan")


def _kept_parts(fits: Sequence[SlotFit], averaging: bool) -> list[float]:
    """The part of itself that a slot keeps in each step that determines it; `averaging` as in `kept_part`."""
    known = [fit for fit in fits if fit.residual < MOST_RESIDUAL]
    kept = [fit.keep for fit in known if max(fit.old_size, fit.old_length) > 1e-2 and fit.gain_size > 1e-6]
    return [1 - fit.gain for fit in known if fit.old_size <= 1e-2] if not kept and averaging else kept


def constant_in_time(evidence: Evidence) -> Finding | None:
    """Recognizes OPTIMIZER_CONSTANT where the port's constant changes with the steps: a schedule has one, too."""
    sides, optimizer = evidence.both_updates, evidence.context.optimizer
    if sides is None or optimizer is None or any(criterion(evidence) for criterion in (momentum_form, slot_convention)):
        return None
    left, right = sides
    for slot, rule in optimizer.slot_rules().items():
        legacy, port = (_kept_parts(side.slots[slot], averaging=not rule.rescaled) for side in (left, right))
        if len(port) < LEAST_STEPS or not legacy or spread(legacy) >= 1e-2 or not all(0.05 < part < 1 for part in port):
            continue
        if sum(abs(part - legacy[0]) > 1e-2 * legacy[0] for part in port) < LEAST_CHANGED or spread(port) < 1e-2:
            continue
        if (
            not all(map(_sums_to_one, right.slots[slot]))
            if _is_average(rule)
            else adds_learning_rate(right.slots[slot], learning_rates_of(right))
        ):
            continue
        return Finding(
            f"Slot {slot} keeps from {format_factor(min(port))} to {format_factor(max(port))} of itself in the port's "
            f"steps, and {format_factor(legacy[0])} in each of legacy's: the port's {rule.constant} changes with the "
            "steps.",
            MEDIUM,
            f"least-squares fit of the slot by its old value and the gradient, in each of {counted(len(port), 'step')}",
        )
    return None


def inject_constant(finding: Finding, setup: Setup) -> injection.Change | None:
    """Injects the optimizer's constants that the finding names, if the optimizer has them all."""
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
_with_rmsprop = injection.with_fields(optimizer=optimizers.RMSProp(), learning_rate=schedules.Fixed(1e-3))

#: All criteria of this file, for a criterion that applies only if none of them does.
CRITERIA = (optimizer_constant,)

CAUSES = (
    Cause(
        id="OPTIMIZER_CONSTANT",
        stage=stages.SLOTS,
        covers=(stages.SLOTS,),
        title="another momentum, beta or decay",
        signature="A slot keeps another share of its old value in each step",
        why="Libraries have different defaults, or a constant was not carried over. Some schedules change it with the "
        "learning rate (PyTorch's OneCycleLR).",
        fix="Give the port legacy's constants.",
        criterion=optimizer_constant,
        change=inject_constant,
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
