"""Causes in the form of the update: epsilons, Nesterov, or something that no form explains."""

from __future__ import annotations

import dataclasses

from parity.causes import injection, slot_updates, sparse, step_length
from parity.causes.cause import HIGH, LOW, Cause, Fault, Finding
from parity.causes.wording import format_number
from parity.comparison import stages
from parity.comparison.fits import near, spread
from workloads import optimizers, schedules
from workloads.optimizers import FormKind

#: A form of the rule explains a step below this misfit, which is about 1 where rounding alone is left; see `updates`.
EXPLAINED = 20.0


#: Another form must explain so much better before it is named.
BETTER = 5.0


def _better(sides, evidence, kind):
    """The first form of a kind that explains the right where its own does not, or None."""
    left, right = sides
    own = right.own_form
    if right.misfit(own) <= EXPLAINED and not _beaten(right, own, kind):
        return None
    forms = [form for form in right.steps[0].forms if form.kind is kind]
    best = min(forms, key=right.misfit, default=None)
    if (
        best is None
        or right.misfit(best) * BETTER > right.misfit(own)
        or right.misfit(best) > max(10 * EXPLAINED, 1e-3 * right.misfit(own))
    ):
        return None
    return best if left.misfit(best) * 2 > left.misfit(own) else None


def _beaten(updates, own, kind):
    return any(updates.misfit(f) * BETTER < updates.misfit(own) for f in updates.steps[0].forms if f.kind is kind)


def epsilon(kind):
    """Returns a criterion for optimizers of class `kind`."""

    def criterion(evidence):
        sides = evidence.both_updates
        optimizer = evidence.context.optimizer
        if sides is None or not isinstance(optimizer, kind):
            return None
        best = _better(sides, evidence, FormKind.EPSILON)
        if best is None:
            return None
        used = best.epsilon
        return Finding(
            f"{type(optimizer).__name__} in the port uses epsilon {used} where legacy uses "
            f"{getattr(optimizer, 'epsilon', 0.0):g}: worst where gradients are small.",
            HIGH,
            f"with {used} the update is explained to {sides[1].misfit(best):.1f} roundings (root mean square), with legacy's to {sides[1].misfit(sides[1].own_form):.0f}",
        )

    return criterion


def form(evidence):
    sides = evidence.both_updates
    if sides is None:
        return None
    others = [form for form in sides[1].steps[0].forms if form.kind is FormKind.VARIANT]
    own = sides[1].own_form
    good = [
        name for name in others if sides[1].explained_by(name) and sides[1].misfit(name) * BETTER < sides[1].misfit(own)
    ]
    good = [name for name in good if not sides[0].explained_by(name)]
    if not good:
        return None
    return Finding(
        f"The port's update is {good[0].name} and legacy's is not.",
        HIGH,
        f"explained to {sides[1].misfit(good[0]):.1f} roundings by that form, to {sides[1].misfit(own):.0f} by legacy's",
    )


def scaled_update(evidence):
    sides = evidence.both_updates
    if sides is None or form(evidence) or not evidence.learning_rates.equal:
        return None
    left, right = ([step.factor for step in side.steps] for side in sides)
    ratios = [b.factor / a.factor for a, b in zip(left, right) if a.factor]
    if not ratios or spread(ratios) > 1e-3 or near(ratios[0], 1, 1e-3) or max(b.residual for b in right) > 1e-2:
        return None
    if any(_better(sides, evidence, kind) for kind in (FormKind.EPSILON, FormKind.KERAS_SLOT)):
        return None
    return Finding(
        f"The port moves its weights {format_number(ratios[0])} x as far as its own gradient, slots and rate say.",
        HIGH,
        f"the same factor in {len(ratios)} steps, residual {max(b.residual for b in right):.1e}",
    )


def unknown_update(evidence):
    sides = evidence.both_updates
    criteria = [form, scaled_update, sparse.rows, *slot_updates.CRITERIA, *step_length.CRITERIA]
    criteria.append(epsilon(optimizers.Optimizer))
    if sides is None or any(criterion(evidence) for criterion in criteria):
        return None
    own = sides[1].own_form
    if sides[1].misfit(own) <= 50 * EXPLAINED or sides[0].misfit(own) > EXPLAINED:
        return None
    return Finding(
        f"The port's weights do not move by {type(evidence.context.optimizer).__name__} of its own gradient, slots and rate (best: {format_number(sides[1].steps[0].factor.factor)} x the expected change, "
        f"residual {sides[1].steps[0].factor.residual:.1e}).",
        LOW,
        f"legacy's do, to {sides[0].misfit(own):.1f} roundings; no form or constant in the catalogue fits",
    )


def _optimizer(**changes):
    return injection.in_workload(lambda job: {"optimizer": dataclasses.replace(job.workload.optimizer, **changes)})


class _Further(injection.WrappedRules):
    """Weights move twice as far as the rule says."""

    def apply(self, local, gradients, rate):
        before = {name: local.weights[name].read_value() for name in gradients}
        self._rules.apply(local, gradients, rate)
        for name, old in before.items():
            local.weights[name].assign(old + 2.0 * (local.weights[name].read_value() - old))


_adam = injection.with_fields(optimizer=optimizers.Adam())


_small_gradients = injection.with_fields(optimizer=optimizers.Adam(epsilon=1e-8))


_momentum = injection.with_fields(optimizer=optimizers.Momentum(), learning_rate=schedules.Fixed(0.01))


_rmsprop = injection.with_fields(optimizer=optimizers.RMSProp(), learning_rate=schedules.Fixed(1e-3))


CAUSES = (
    Cause(
        "ADAM_EPS",
        stages.WEIGHTS,
        "Adam's epsilon",
        "gradients and slots agree; the update is smaller where |g| is small",
        "1.x's default is 1e-8, Keras's is 1e-7, both in the epsilon-hat form.",
        "epsilon=1e-8.",
        epsilon(optimizers.Adam),
        (
            Fault(
                "keras_epsilon",
                _optimizer(epsilon=1e-7),
                _small_gradients,
            ),
            Fault("large_epsilon", _optimizer(epsilon=1e-3), _adam),
        ),
        "R12",
    ),
    Cause(
        "RMSPROP_EPS",
        stages.SLOTS,
        "RMSProp's epsilon",
        "gradients and mean squares agree; the update is smaller where |g| is small",
        "1.x's default is 1e-10 inside the root, Keras's 1e-7.",
        "epsilon=1e-10.",
        epsilon(optimizers.RMSProp),
        (Fault("rmsprop_large_epsilon", _optimizer(epsilon=1e-3), _rmsprop),),
    ),
    Cause(
        "UPDATE_FORM",
        stages.WEIGHTS,
        "another form of the rule",
        "slots agree, the update fits another form (Nesterov, no bias correction)",
        "A flag that was lost or added.",
        "Set the flag as legacy does.",
        form,
        (Fault("nesterov", _optimizer(nesterov=True), _momentum),),
    ),
    Cause(
        "UPDATE_SCALED",
        stages.WEIGHTS,
        "weights move further than the rule says",
        "gradients, slots and rate agree; the change of the weights has a factor",
        "An update applied twice (each replica applies it to one shared copy), or averaged over replicas.",
        "Apply the update once per replica's own copy.",
        scaled_update,
        (Fault("update_applied_twice", injection.in_update_rules(_Further)),),
    ),
    Cause(
        "UPDATE_UNKNOWN",
        stages.WEIGHTS,
        "the update follows another rule",
        "the change of the weights is explained by no form of legacy's optimizer",
        "Another optimizer, or a step between the gradient and the update that no record shows.",
        "Compare the optimizers, and what is done to the gradients after they are recorded.",
        unknown_update,
    ),
)
