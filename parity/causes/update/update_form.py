"""Causes in the form of the update: epsilons, Nesterov, a factor, or something that no form explains."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parity.causes.basics import injection
from parity.causes.basics.cause import HIGH, LOW, MEDIUM, Cause, Fault, Finding
from parity.causes.basics.wording import format_number, shortest_decimal
from parity.causes.update import framework_rules, optimizer_variants, slot_updates, sparse, step_length
from parity.causes.update.planted_formulas import form_named, updates_by_formula
from parity.causes.update.planted_updates import scaled_updates
from parity.comparison import stages
from parity.comparison.fits import largest, near, spread
from parity.diagnosis.signatures.fitted_epsilon import FittedEpsilon, fit_port_epsilon
from workloads import optimizers, schedules
from workloads.optimizers import FormKind, UpdateForm
from workloads.optimizers.update_forms import HEAVY_BALL, NESTEROV

if TYPE_CHECKING:
    import tensorflow as tf

    from modern.mirrored.step_tensors import Tensors
    from modern.mirrored.variables import LocalState
    from parity.comparison.setup import Setup
    from parity.diagnosis.evidence import Evidence
    from parity.diagnosis.updates import Updates

#: A form explains the steps if its misfit is at most this; rounding alone makes about 1, see `updates`.
EXPLAINED = 20.0

#: Another form is named only if its misfit is smaller by this factor.
BETTER = 5.0

#: The steps have one factor if it spreads over less than this part, and it is not 1 within this part.
SAME_FACTOR = 1e-3


def adam_eps(evidence: Evidence) -> Finding | None:
    """Recognizes ADAM_EPS: another epsilon explains the port's update by Adam."""
    return another_epsilon(evidence) if isinstance(evidence.context.optimizer, optimizers.Adam) else None


def rmsprop_eps(evidence: Evidence) -> Finding | None:
    """Recognizes RMSPROP_EPS: another epsilon explains the port's update by RMSProp."""
    return another_epsilon(evidence) if isinstance(evidence.context.optimizer, optimizers.RMSProp) else None


def adagrad_eps(evidence: Evidence) -> Finding | None:
    """Recognizes ADAGRAD_EPS: an epsilon explains the port's update by Adagrad, which has none in 1.x."""
    return another_epsilon(evidence) if isinstance(evidence.context.optimizer, optimizers.Adagrad) else None


def another_epsilon(evidence: Evidence) -> Finding | None:
    """Recognizes another epsilon, or another place of it, in any optimizer that has one."""
    sides, optimizer = evidence.both_updates, evidence.context.optimizer
    if sides is None or optimizer is None:
        return None
    left, right = sides
    fit, form = _fitted_epsilon(evidence, left, right), _better_form(left, right, FormKind.EPSILON)
    if form is not None and (fit is None or not fit.misfit * BETTER < right.misfit(form)):
        fit, epsilon = FittedEpsilon("", float(form.epsilon), right.misfit(form)), form.epsilon
    elif fit is not None:
        epsilon = f"{fit.epsilon:.3g}" + (f" {fit.place}" if fit.place else "")
    else:
        return None
    own = optimizer.kernel().constants.get("epsilon", 0.0)
    return Finding(
        f"{type(optimizer).__name__} in the port uses epsilon {epsilon} where legacy uses {own:g}: the updates differ "
        "most where gradients are small.",
        HIGH if fit.misfit <= EXPLAINED else MEDIUM,
        f"with {epsilon} the update is explained to {fit.misfit:.1f} roundings (root mean square), with legacy's to "
        f"{right.misfit(right.own_form):.0f}",
        {"epsilon": shortest_decimal(fit.epsilon, 5e-3), **({"place": fit.place} if fit.place else {})},
    )


def _fitted_epsilon(evidence: Evidence, left: Updates, right: Updates) -> FittedEpsilon | None:
    """Returns the fitted epsilon if it explains the port far better than legacy's does; None if legacy's does too."""
    own = min(right.misfit(form) for form in [right.own_form, *_forms_of_kind(right, FormKind.STEP_POWERS)])
    optimizer = evidence.context.optimizer
    if optimizer is None or not left.misfit(left.own_form) <= EXPLAINED < own:
        return None
    fit = fit_port_epsilon(evidence)
    if fit is None or not fit.misfit * BETTER < own or not fit.misfit <= max(EXPLAINED, 1e-3 * own):
        return None
    legacy = optimizer.kernel().constants.get("epsilon", 0.0)
    return fit if fit.place or not near(fit.epsilon, legacy, 1e-2) else None


def update_form(evidence: Evidence) -> Finding | None:
    """Recognizes UPDATE_FORM: another formula of the optimizer explains the port's update, and not legacy's."""
    sides = evidence.both_updates
    if sides is None:
        return None
    left, right = sides
    own = right.misfit(right.own_form)
    forms = _forms_of_kind(right, FormKind.VARIANT)
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
    if residual > 1e-2 or another_epsilon(evidence) or _better_form(left, right, FormKind.KERAS_SLOT):
        return None
    return Finding(
        f"The port's weights change by {format_number(ratios[0])} x what its own gradient, slots and learning rate "
        "give.",
        HIGH,
        f"the same factor in {len(ratios)} steps, residual {residual:.1e}",
        {"factor": shortest_decimal(float(np.median(ratios)), 1e-5)},
    )


def update_unknown(evidence: Evidence) -> Finding | None:
    """Recognizes UPDATE_UNKNOWN: the rule explains legacy's update, and nothing explains the port's."""
    sides = evidence.both_updates
    others = (update_form, update_scaled, another_epsilon, sparse.sparse_duplicates)
    known = (*others, *slot_updates.CRITERIA, *step_length.CRITERIA, *optimizer_variants.CRITERIA)
    if sides is None or any(criterion(evidence) for criterion in known):
        return None
    left, right = sides
    own = right.own_form
    if right.misfit(own) <= 50 * EXPLAINED or left.misfit(own) > EXPLAINED:
        return None
    fit = right.steps[0].factor
    return Finding(
        f"The port's weights do not change by {type(evidence.context.optimizer).__name__} of its own gradient, slots "
        f"and learning rate (best: {format_number(fit.factor)} x the expected change, residual {fit.residual:.1e}).",
        LOW,
        f"legacy's do, to {left.misfit(own):.1f} roundings; no form or constant in the catalogue fits",
    )


def _forms_of_kind(updates: Updates, kind: FormKind) -> list[UpdateForm]:
    return [form for form in updates.steps[0].forms if form.kind is kind]


def _better_form(left: Updates, right: Updates, kind: FormKind) -> UpdateForm | None:
    """Returns the form of a kind that explains the port far better than the optimizer's own, or None.

    Args:
      left, right: updates of legacy and of the port.
      kind: the kind of forms to try.

    Returns:
      the best form; None if the own one explains the port as well, or if the best explains legacy twice as well.
    """
    forms = _forms_of_kind(right, kind)
    own = right.misfit(right.own_form)
    if own <= EXPLAINED and not any(right.misfit(form) * BETTER < own for form in forms):
        return None
    best = min(forms, key=right.misfit, default=None)
    if (
        best is None
        or not np.isfinite(right.misfit(best))
        or right.misfit(best) * BETTER > own
        or right.misfit(best) > max(10 * EXPLAINED, 1e-3 * own)
    ):
        return None
    return best if left.misfit(best) * 2 > left.misfit(right.own_form) else None


class _DoubledUpdate(injection.WrappedRules):
    """Moves weights twice as far as the rule says."""

    def apply(self, local: LocalState, gradients: Tensors, rate: tf.Tensor) -> None:
        before = {name: local.weights[name].read_value() for name in gradients}
        self._rules.apply(local, gradients, rate)
        for name, old in before.items():
            local.weights[name].assign(old + 2.0 * (local.weights[name].read_value() - old))


def _plant_epsilon(finding: Finding, setup: Setup) -> injection.Change | None:
    """Plants an epsilon of a value in its place."""
    value, place = float(finding.constants["epsilon"]), finding.constants.get("place", "")
    optimizer = setup.job.workload.optimizer
    if isinstance(optimizer, optimizers.Adagrad):
        return framework_rules.adagrad(inside=value) if place == "inside the root" else framework_rules.adagrad(value)
    if not place:
        return slot_updates.plant_constant(finding, setup)
    if isinstance(optimizer, optimizers.RMSProp):
        return framework_rules.rmsprop(outside=value)
    return framework_rules.adam(corrected_epsilon=value) if place == "after the bias correction" else None


def _plant_form(finding: Finding, setup: Setup) -> injection.Change | None:
    """Plants a form of the update: by the optimizer's flag where it has one, else by its formula."""
    optimizer, name = setup.job.workload.optimizer, finding.constants["form"]
    nesterov = {NESTEROV.name: True, HEAVY_BALL.name: False}.get(name)
    if nesterov is not None and isinstance(optimizer, optimizers.Momentum):
        return slot_updates.change_optimizer(nesterov=nesterov)
    form = form_named(optimizer, name)
    return None if form is None else updates_by_formula(optimizer.update_forms()[form], optimizer)


def _plant_factor(finding: Finding, setup: Setup) -> injection.Change:
    return scaled_updates(finding.constants["factor"])


_with_adam = injection.with_fields(optimizer=optimizers.Adam())
_with_small_epsilon = injection.with_fields(optimizer=optimizers.Adam(epsilon=1e-8))
_with_momentum = injection.with_fields(optimizer=optimizers.Momentum(), learning_rate=schedules.Fixed(0.01))
_with_short_memory = injection.with_fields(optimizer=optimizers.Adam(beta2=0.5))
_with_adagrad = injection.with_fields(optimizer=optimizers.Adagrad(), learning_rate=schedules.Fixed(1e-2))
_with_rmsprop_momentum = injection.with_fields(
    optimizer=optimizers.RMSProp(momentum=0.9), learning_rate=schedules.ExponentialDecay(1e-3, 2, 0.5)
)
_with_rmsprop = injection.with_fields(optimizer=optimizers.RMSProp(), learning_rate=schedules.Fixed(1e-3))

CAUSES = (
    Cause(
        id="ADAM_EPS",
        stage=stages.WEIGHTS,
        covers=(stages.WEIGHTS,),
        title="Adam's epsilon",
        signature="Gradients and slots agree; the update is smaller where |g| is small",
        why="The default is 1e-8 in 1.x and 1e-7 in Keras, both in the epsilon-hat form. PyTorch adds 1e-8 after the "
        "bias correction: in step t that is 1e-8 sqrt(1 - beta2^t) in 1.x's place.",
        fix="Use epsilon=1e-8, in the epsilon-hat form.",
        criterion=adam_eps,
        plant=_plant_epsilon,
        by_variable=True,
        faults=(
            Fault("keras_epsilon", slot_updates.change_optimizer(epsilon=1e-7), _with_small_epsilon),
            Fault("large_epsilon", slot_updates.change_optimizer(epsilon=1e-3), _with_adam),
            Fault("pytorch_epsilon", framework_rules.adam(corrected_epsilon=1e-5), _with_adam),
        ),
        pitfall="R12",
    ),
    Cause(
        id="RMSPROP_EPS",
        stage=stages.SLOTS,
        title="RMSProp's epsilon",
        signature="Gradients and mean squares agree; the update is smaller where |g| is small",
        why="The default is 1e-10 (inside the root) in 1.x and 1e-7 in Keras.",
        fix="Use epsilon=1e-10.",
        criterion=rmsprop_eps,
        plant=_plant_epsilon,
        by_variable=True,
        faults=(
            Fault("rmsprop_large_epsilon", slot_updates.change_optimizer(epsilon=1e-3), _with_rmsprop),
            Fault("rmsprop_epsilon_outside_the_root", framework_rules.rmsprop(outside=1e-3), _with_rmsprop),
        ),
    ),
    Cause(
        id="ADAGRAD_EPS",
        stage=stages.WEIGHTS,
        title="Adagrad's epsilon",
        signature="Gradients and accumulators agree; the update is smaller where the accumulator is small",
        why="1.x's Adagrad has no epsilon, only an initial accumulator of 0.1. Keras's has epsilon 1e-7, PyTorch's "
        "1e-10 and an initial accumulator of 0.",
        fix="Use epsilon 0 (or the smallest that the library takes) and legacy's initial accumulator.",
        criterion=adagrad_eps,
        plant=_plant_epsilon,
        covers=(stages.WEIGHTS,),
        by_variable=True,
        faults=(
            Fault("adagrad_epsilon", framework_rules.adagrad(epsilon=1e-3), _with_adagrad),
            Fault("adagrad_epsilon_inside_the_root", framework_rules.adagrad(inside=1e-3), _with_adagrad),
        ),
    ),
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
        plant=_plant_form,
        by_variable=True,
        faults=(
            Fault("nesterov", slot_updates.change_optimizer(nesterov=True), _with_momentum),
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
        title="weights move further than the rule says",
        signature="Gradients, slots and learning rate agree; the change of the weights has a factor",
        why="An update is applied twice (each replica applies it to one shared copy), or averaged over replicas.",
        fix="Let each replica apply the update once, to its own copy.",
        criterion=update_scaled,
        plant=_plant_factor,
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
