"""Causes in the epsilon of an optimizer: another value of it, or another place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parity.causes.basics import injection
from parity.causes.basics.cause import HIGH, MEDIUM, Cause, Fault, Finding
from parity.causes.basics.wording import shortest_decimal
from parity.causes.update import framework_rules, slot_updates
from parity.causes.update.explaining_forms import BETTER, EXPLAINED, better_form, forms_of_kind
from parity.causes.update.update_changes import change_optimizer
from parity.comparison import stages
from parity.comparison.fits import near
from parity.diagnosis.signatures.fitted_epsilon import FittedEpsilon, fit_port_epsilon, smaller_fits_too
from workloads import optimizers, schedules
from workloads.optimizers import FormKind
from workloads.optimizers.rmsprop import PYTORCH_PLACE

if TYPE_CHECKING:
    from parity.comparison.setup import Setup
    from parity.diagnosis.evidence import Evidence
    from parity.diagnosis.updates import Updates


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
    fit, form = _fitted_epsilon(evidence, left, right), better_form(left, right, FormKind.EPSILON)
    if form is not None and (fit is None or not fit.misfit * BETTER < right.misfit(form)):
        fit, epsilon = FittedEpsilon("", float(form.epsilon), right.misfit(form)), form.epsilon
    elif fit is not None:
        epsilon = f"{fit.epsilon:.3g}" + (f" {fit.place}" if fit.place else "")
    else:
        return None
    own = optimizer.kernel().constants.get("epsilon", 0.0)
    smaller = smaller_fits_too(evidence, fit, EXPLAINED)
    return Finding(
        f"{type(optimizer).__name__} in the port uses epsilon {epsilon}{' or a smaller one' if smaller else ''} where "
        f"legacy uses {own:g}: the updates differ most where gradients are small.",
        HIGH if fit.misfit <= EXPLAINED else MEDIUM,
        f"with {epsilon} the update is explained to {fit.misfit:.1f} roundings (root mean square), with legacy's to "
        f"{right.misfit(right.own_form):.0f}",
        {"epsilon": shortest_decimal(fit.epsilon, 5e-3), **({"place": fit.place} if fit.place else {})},
    )


def _fitted_epsilon(evidence: Evidence, left: Updates, right: Updates) -> FittedEpsilon | None:
    """Returns the fitted epsilon if it explains the port far better than any formula with legacy's; else None."""
    others = [*forms_of_kind(right, FormKind.STEP_POWERS), *forms_of_kind(right, FormKind.VARIANT)]
    own = min(right.misfit(form) for form in [right.own_form, *others])
    optimizer = evidence.context.optimizer
    if optimizer is None or not left.misfit(left.own_form) <= EXPLAINED < own:
        return None
    fit = fit_port_epsilon(evidence)
    if fit is None or not fit.misfit * BETTER < own or not fit.misfit <= max(EXPLAINED, 1e-3 * own):
        return None
    legacy = optimizer.kernel().constants.get("epsilon", 0.0)
    return fit if fit.place or not near(fit.epsilon, legacy, 1e-2) else None


def _inject_epsilon(finding: Finding, setup: Setup) -> injection.Change | None:
    """Injects an epsilon of a value in its place."""
    value, place = float(finding.constants["epsilon"]), finding.constants.get("place", "")
    optimizer = setup.job.workload.optimizer
    if isinstance(optimizer, optimizers.Adagrad):
        return framework_rules.adagrad(inside=value) if place == "inside the root" else framework_rules.adagrad(value)
    if not place:
        return slot_updates.inject_constant(finding, setup)
    if isinstance(optimizer, optimizers.RMSProp):
        return framework_rules.rmsprop(outside=value, rate_outside=place == PYTORCH_PLACE)
    return framework_rules.adam(corrected_epsilon=value) if place == "after the bias correction" else None


_with_adam = injection.with_fields(optimizer=optimizers.Adam())
_with_small_epsilon = injection.with_fields(optimizer=optimizers.Adam(epsilon=1e-8))
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
        fix="Give the port legacy's epsilon, in the epsilon-hat form.",
        criterion=adam_eps,
        change=_inject_epsilon,
        by_variable=True,
        faults=(
            Fault("keras_epsilon", change_optimizer(epsilon=1e-7), _with_small_epsilon),
            Fault("large_epsilon", change_optimizer(epsilon=1e-3), _with_adam),
            Fault("pytorch_epsilon", framework_rules.adam(corrected_epsilon=1e-5), _with_adam),
        ),
        pitfall="R12",
    ),
    Cause(
        id="RMSPROP_EPS",
        stage=stages.SLOTS,
        title="RMSProp's epsilon",
        signature="Gradients and mean squares agree; the update is smaller where |g| is small",
        why="The default is 1e-10 (inside the root) in 1.x and 1e-7 in Keras; PyTorch adds 1e-8 outside the root, and "
        "multiplies the momentum slot by the learning rate, which 1.x's slot holds.",
        fix="Give the port legacy's epsilon, inside of the root.",
        criterion=rmsprop_eps,
        change=_inject_epsilon,
        by_variable=True,
        faults=(
            Fault("rmsprop_large_epsilon", change_optimizer(epsilon=1e-3), _with_rmsprop),
            Fault("rmsprop_epsilon_outside_the_root", framework_rules.rmsprop(outside=1e-3), _with_rmsprop),
            Fault("pytorch_rmsprop", framework_rules.rmsprop(outside=1e-3, rate_outside=True), _with_rmsprop_momentum),
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
        change=_inject_epsilon,
        covers=(stages.WEIGHTS,),
        by_variable=True,
        faults=(
            Fault("adagrad_epsilon", framework_rules.adagrad(epsilon=1e-3), _with_adagrad),
            Fault("adagrad_epsilon_inside_the_root", framework_rules.adagrad(inside=1e-3), _with_adagrad),
        ),
    ),
)
