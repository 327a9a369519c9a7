"""Causes in the form of the update: another formula such as Nesterov's, a factor, or nothing that is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parity.causes.basics import injection
from parity.causes.basics.cause import HIGH, LOW, Cause, Fault, Finding
from parity.causes.basics.wording import format_factor, shortest_decimal
from parity.causes.update import (
    framework_rules,
    momentum_slots,
    optimizer_variants,
    other_inputs,
    slot_updates,
    sparse,
    step_length,
)
from parity.causes.update.epsilon import another_epsilon
from parity.causes.update.explaining_forms import BETTER, EXPLAINED, better_form, forms_of_kind
from parity.causes.update.formula_changes import form_named, updates_by_formula
from parity.causes.update.update_changes import change_optimizer, scaled_updates
from parity.comparison import stages
from parity.comparison.fits import largest, near, spread
from workloads import optimizers, schedules
from workloads.optimizers import FormKind
from workloads.optimizers.update_forms import HEAVY_BALL, NESTEROV
from workloads.support.wording import counted

if TYPE_CHECKING:
    import tensorflow as tf

    from modern.mirrored.state.variables import LocalState
    from modern.mirrored.step.step_tensors import Tensors
    from parity.comparison.setup import Setup
    from parity.diagnosis.evidence import Evidence

#: The steps have one factor if it spreads over less than this part, and it is not 1 within this part.
SAME_FACTOR = 1e-3


def update_form(evidence: Evidence) -> Finding | None:
    """Recognizes UPDATE_FORM: another formula of the optimizer explains the port's update, and not legacy's."""
    sides = evidence.both_updates
    if sides is None:
        return None
    left, right = sides
    own = right.misfit(right.own_form)
    forms = forms_of_kind(right, FormKind.VARIANT)
    best = min(forms, key=right.misfit, default=None)
    if best is None or not right.explained_by(best) or left.explained_by(best):
        return None
    if not right.misfit(best) * BETTER < own:
        return None
    return Finding(
        f"The port's update is {best.name} and legacy's is not.",
        HIGH,
        f"explained to {right.misfit(best):.1f} roundings by that form, to {own:.0f} by legacy's",
        {"form": best.name},
    )


def update_scaled(evidence: Evidence) -> Finding | None:
    """Recognizes UPDATE_SCALED: the change of the weights is the rule's times one factor."""
    sides = evidence.both_updates
    if sides is None or update_form(evidence) or not evidence.learning_rates.equal:
        return None
    left, right = sides
    ratios = [b.factor.factor / a.factor.factor for a, b in zip(left.steps, right.steps) if a.factor.factor]
    if not ratios or not spread(ratios) <= SAME_FACTOR or near(ratios[0], 1, SAME_FACTOR):
        return None
    residual = largest(step.factor.residual for step in right.steps)
    if residual > 1e-2 or another_epsilon(evidence) or better_form(left, right, FormKind.KERAS_SLOT):
        return None
    return Finding(
        f"The port's weights change by {format_factor(ratios[0])} x the update from its own gradient, slots and "
        "learning rate.",
        HIGH,
        f"the same factor in {counted(len(ratios), 'step')}, residual {residual:.1e}",
        {"factor": shortest_decimal(float(np.median(ratios)), 1e-5)},
    )


def update_unknown(evidence: Evidence) -> Finding | None:
    """Recognizes UPDATE_UNKNOWN: the rule explains legacy's update, and nothing explains the port's."""
    sides = evidence.both_updates
    others = (update_form, update_scaled, another_epsilon, sparse.sparse_duplicates)
    subjects = (momentum_slots, slot_updates, other_inputs, step_length, optimizer_variants)
    known = (*others, *(criterion for subject in subjects for criterion in subject.CRITERIA))
    if sides is None or any(criterion(evidence) for criterion in known):
        return None
    left, right = sides
    own = right.own_form
    if right.misfit(own) <= 50 * EXPLAINED or left.misfit(own) > EXPLAINED:
        return None
    fit = right.steps[0].factor
    return Finding(
        f"The port's weights do not change by {type(evidence.context.optimizer).__name__} of its own gradient, slots "
        f"and learning rate (best: {format_factor(fit.factor)} x the expected change, residual {fit.residual:.1e}).",
        LOW,
        f"legacy's do, to {left.misfit(own):.1f} roundings; no form or constant in the catalogue fits",
    )


class _DoubledUpdate(injection.WrappedRules):
    """Moves weights twice as far as the rule says."""

    def apply(self, local: LocalState, gradients: Tensors, rate: tf.Tensor) -> None:
        before = {name: local.weights[name].read_value() for name in gradients}
        self._rules.apply(local, gradients, rate)
        for name, old in before.items():
            local.weights[name].assign(old + 2.0 * (local.weights[name].read_value() - old))


def _inject_form(finding: Finding, setup: Setup) -> injection.Change | None:
    """Injects a form of the update: by the optimizer's flag where it has one, else by its formula."""
    optimizer, name = setup.job.workload.optimizer, finding.constants["form"]
    nesterov = {NESTEROV.name: True, HEAVY_BALL.name: False}.get(name)
    if nesterov is not None and isinstance(optimizer, optimizers.Momentum):
        return change_optimizer(nesterov=nesterov)
    form = form_named(optimizer, name)
    return None if form is None else updates_by_formula(form, optimizer)


def _inject_factor(finding: Finding, setup: Setup) -> injection.Change:
    return scaled_updates(finding.constants["factor"])


_with_adam = injection.with_fields(optimizer=optimizers.Adam())
_with_momentum = injection.with_fields(optimizer=optimizers.Momentum(), learning_rate=schedules.Fixed(0.01))
_with_short_memory = injection.with_fields(optimizer=optimizers.Adam(beta2=0.5))
_with_rmsprop_momentum = injection.with_fields(
    optimizer=optimizers.RMSProp(momentum=0.9), learning_rate=schedules.ExponentialDecay(1e-3, 2, 0.5)
)
_with_rmsprop = injection.with_fields(optimizer=optimizers.RMSProp(), learning_rate=schedules.Fixed(1e-3))

CAUSES = (
    Cause(
        id="UPDATE_FORM",
        stage=stages.WEIGHTS,
        covers=(stages.WEIGHTS,),
        title="another form of the rule",
        signature="The slots agree, and the update fits another form of the rule (Nesterov, AMSGrad, centered RMSProp, "
        "no bias correction or one of one moment only, the learning rate outside RMSProp's momentum slot)",
        why="A flag of the optimizer was lost or added, or another library's optimizer of the same name has another "
        "formula.",
        fix="Set the flag as legacy does.",
        criterion=update_form,
        change=_inject_form,
        by_variable=True,
        faults=(
            Fault("nesterov", change_optimizer(nesterov=True), _with_momentum),
            Fault("amsgrad", framework_rules.adam(amsgrad=True), _with_short_memory),
            Fault("no_bias_correction", framework_rules.adam(correct=(False, False)), _with_adam),
            Fault("second_moment_not_corrected", framework_rules.adam(correct=(True, False)), _with_adam),
            Fault("rmsprop_centered", framework_rules.rmsprop(centered=True), _with_rmsprop),
            Fault("rmsprop_rate_outside_the_slot", framework_rules.rmsprop(rate_outside=True), _with_rmsprop_momentum),
        ),
    ),
    Cause(
        id="UPDATE_SCALED",
        stage=stages.WEIGHTS,
        covers=(stages.WEIGHTS,),
        title="weights change by more than the rule gives",
        signature="Gradients, slots and learning rate agree; the change of the weights has a factor",
        why="An update is applied twice (each replica applies it to one shared copy), or averaged over replicas.",
        fix="Let each replica apply the update once, to its own copy.",
        criterion=update_scaled,
        change=_inject_factor,
        faults=(Fault("update_applied_twice", injection.in_update_rules(_DoubledUpdate)),),
    ),
    Cause(
        id="UPDATE_UNKNOWN",
        stage=stages.WEIGHTS,
        title="the update follows another rule",
        signature="No form of legacy's optimizer explains the change of the weights",
        why="The port has another optimizer, or changes gradients after they are recorded.",
        fix="Compare the optimizers, and everything that is done to the gradients between the record and the update.",
        criterion=update_unknown,
        by_variable=True,
    ),
)
