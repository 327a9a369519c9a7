"""Causes in the optimizer's arguments: dampening, weight decay of its own, another learning rate for some variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parity.causes.basics import injection
from parity.causes.basics.cause import HIGH, Cause, Fault, Finding
from parity.causes.basics.wording import format_factor, shortest_decimal
from parity.causes.update import framework_rules
from parity.causes.update.momentum_slots import MOST_RESIDUAL
from parity.causes.update.update_changes import scaled_updates_of
from parity.comparison import stages
from parity.comparison.fits import near, spread
from workloads import optimizers, schedules
from workloads.support.wording import counted, plural
from workloads.tracing import trace

if TYPE_CHECKING:
    import tensorflow as tf

    from modern.mirrored.state.variables import LocalState
    from modern.mirrored.step.step_tensors import Tensors
    from parity.comparison.setup import Setup
    from parity.diagnosis.evidence import Evidence
    from parity.diagnosis.updates import Updates
    from workloads.workload import Workload

#: A number is the same in all steps, and differs from 1, by these parts.
SAME_NUMBER, OTHER_NUMBER = 1e-3, 2e-3

#: A decay is the same in all steps within this part.
SAME_DECAY = 5e-2

#: A slot that is filled to less than this part by its old value is an empty one.
EMPTY = 1e-6


def momentum_dampening(evidence: Evidence) -> Finding | None:
    """Recognizes MOMENTUM_DAMPENING: the momentum slot takes up another part of the gradient."""
    sides = evidence.both_updates
    if sides is None or not isinstance(evidence.context.optimizer, optimizers.Momentum):
        return None
    left, right = sides
    rates = {step.step: step.learning_rate for step in right.steps}
    fits = [fit for fit in right.slots["momentum"] if fit.residual <= MOST_RESIDUAL]
    later = [fit for fit in fits if fit.old_size > EMPTY]
    known = later or fits
    gains = [fit.gain for fit in known]
    if not known or not all(near(fit.gain, 1, SAME_NUMBER) for fit in left.slots["momentum"] if fit.gain_size > 1e-3):
        return None
    if not spread(gains) <= SAME_NUMBER or near(gains[0], 1, OTHER_NUMBER) or not abs(gains[0]) > EMPTY:
        return None
    if all(near(fit.gain, -rates[fit.step], SAME_NUMBER) for fit in known):
        return None  # `SLOT_CONVENTION` and `MOMENTUM_FORM`
    gain = float(np.median(gains))
    first = [fit.gain for fit in fits if fit.old_size <= EMPTY]
    undamped = bool(first) and near(first[0], 1, SAME_NUMBER)
    return Finding(
        f"The port's momentum slot takes up {format_factor(gain)} x the gradient and legacy's all of it: dampening of "
        f"{format_factor(1 - gain)}" + (", but for the first step, as in PyTorch." if undamped else "."),
        HIGH,
        f"least-squares fit of the slot by its old value and the gradient in {counted(len(known), 'step')}, residual "
        f"{max(fit.residual for fit in known):.1e}",
        {"dampening": shortest_decimal(1 - gain, 1e-3), "first_damped": not undamped},
    )


def optimizer_decay(evidence: Evidence) -> Finding | None:
    """Recognizes OPTIMIZER_DECAY: the slots take up the gradient plus a multiple of the weight."""
    sides = evidence.both_updates
    if sides is None:
        return None
    left, right = sides
    for slot in right.slots:
        decays = [fit.decay for fit in right.slots[slot]]
        if not decays or any(fit.decay for fit in left.slots[slot]) or not spread(decays) <= SAME_DECAY:
            continue
        decay = float(np.median(decays))
        if decay:
            return Finding(
                f"The port's optimizer adds {format_factor(decay)} x each weight to the gradient that it gets: a "
                "weight decay of its own, which legacy's has not.",
                HIGH,
                f"slot {slot} takes up the gradient plus that multiple of the weight in {counted(len(decays), 'step')}",
                {"rate": shortest_decimal(decay, 1e-2)},
            )
    return None


def variable_learning_rate(evidence: Evidence) -> Finding | None:
    """Recognizes VARIABLE_LEARNING_RATE: some weights move by one factor times what the rule says."""
    sides = evidence.both_updates
    if sides is None:
        return None
    left, right = sides
    factors = {name: factor_of(name, right) for name in right.steps[0].factors}
    known = {name: factor for name, factor in factors.items() if np.isfinite(factor) and factor}
    scaled = {name: factor for name, factor in known.items() if not near(factor, 1, OTHER_NUMBER)}
    others = [name for name in known if name not in scaled]
    if not scaled or (not others and spread(scaled.values()) <= OTHER_NUMBER):
        return None
    if any(not near(factor_of(name, left), 1, SAME_NUMBER) for name in scaled):
        return None
    listed = ", ".join(f"{name} {format_factor(factor)} x" for name, factor in sorted(scaled.items())[:4])
    return Finding(
        f"{len(scaled)} of the port's {len(factors)} weights {plural(len(scaled), 'moves', 'move')} by a factor times "
        f"the update that gradients, slots and learning rate give ({listed}), the others by that update itself.",
        HIGH,
        f"weight by weight, the same factor in {counted(len(right.steps), 'step')}",
        {"factors": tuple(sorted(scaled.items()))},
        variables=tuple(sorted(scaled)),
    )


def factor_of(name: str, updates: Updates) -> float:
    """Returns the factor of a weight's change by the rule's; NaN unless it is clean and the same in all steps.

    A weight whose change rounding hides has none. A single number has a clean factor in every step, so that three
    steps must agree on it.
    """
    fits = [step.factors[name] for step in updates.steps if name in step.factors]
    clean = [fit.factor for fit in fits if fit.residual <= 1e-2]
    if len(clean) < len(fits) or len(fits) < 3 or not spread(clean) <= SAME_NUMBER:
        return float("nan")
    return float(np.median(clean))


def _inject_factors(finding: Finding, setup: Setup) -> injection.Change:
    factors = {name: shortest_decimal(factor, 1e-4) for name, factor in finding.constants["factors"]}
    return scaled_updates_of(factors)


def _inject_dampening(finding: Finding, setup: Setup) -> injection.Change:
    return framework_rules.momentum(**finding.constants)


def _inject_optimizer_decay(finding: Finding, setup: Setup) -> injection.Change:
    return framework_rules.coupled_decay(finding.constants["rate"])


class _LastWeightSlower(injection.WrappedRules):
    """Moves the last weight by a tenth of what the rule says."""

    def apply(self, local: LocalState, gradients: Tensors, rate: tf.Tensor) -> None:
        name = list(gradients)[-1]
        before = local.weights[name].read_value()
        self._rules.apply(local, gradients, rate)
        local.weights[name].assign(before + 0.1 * (local.weights[name].read_value() - before))


def several_weights(workload: Workload) -> Workload | None:
    """Returns the workload if it has more than one trained weight, else None; an `adapt` of faults."""
    return workload if sum(spec.trainable for spec in trace(workload)) > 1 else None


_with_momentum = injection.with_fields(optimizer=optimizers.Momentum(), learning_rate=schedules.Fixed(0.01))
_with_adam = injection.with_fields(optimizer=optimizers.Adam())

#: All criteria of this file, for a criterion that applies only if none of them does.
CRITERIA = (momentum_dampening, optimizer_decay, variable_learning_rate)

CAUSES = (
    Cause(
        id="MOMENTUM_DAMPENING",
        stage=stages.SLOTS,
        title="momentum takes up a part of the gradient only",
        signature="The momentum slot is m a + (1 - d) g, while legacy's is m a + g",
        why="PyTorch's SGD has an argument dampening, from which it excepts the first step; an exponential average of "
        "the gradients has d = m.",
        fix="Set dampening to 0, or multiply the learning rate by 1 - d on the other side.",
        criterion=momentum_dampening,
        change=_inject_dampening,
        faults=(
            Fault("pytorch_dampening", framework_rules.momentum(0.5), _with_momentum),
            Fault("momentum_as_an_average", framework_rules.momentum(0.9, first_damped=True), _with_momentum),
        ),
        by_variable=True,
    ),
    Cause(
        id="OPTIMIZER_DECAY",
        stage=stages.SLOTS,
        title="the optimizer adds a weight decay to its gradients",
        signature="The gradients that the optimizer gets agree; its slots take up g + l w",
        why="The argument weight_decay of PyTorch's SGD and Adam is L2 decay inside of the optimizer: it comes on top "
        "of a penalty that the loss already has.",
        fix="Leave weight_decay at 0 and keep the penalty in the loss, or the other way round.",
        criterion=optimizer_decay,
        change=_inject_optimizer_decay,
        faults=(
            Fault("decay_in_momentum", framework_rules.coupled_decay(0.01), _with_momentum),
            Fault("decay_in_adam", framework_rules.coupled_decay(0.01), _with_adam),
        ),
        by_variable=True,
    ),
    Cause(
        id="VARIABLE_LEARNING_RATE",
        stage=stages.WEIGHTS,
        title="some variables have a learning rate of their own",
        signature="Some weights change by a constant times the update of the rule, the others by this update",
        why="Parameter groups, learning-rate multipliers of layers, or two optimizers for two parts of the model.",
        fix="Give all variables the learning rate that legacy gives them.",
        criterion=variable_learning_rate,
        change=_inject_factors,
        covers=(stages.WEIGHTS,),
        faults=(Fault("last_weight_slower", injection.in_update_rules(_LastWeightSlower), several_weights),),
    ),
)
