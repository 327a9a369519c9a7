"""Causes in the size of the weights' change: weights that are not trained, skipped updates, decoupled weight decay."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parity.causes.basics import injection
from parity.causes.basics.cause import HIGH, Cause, Fault, Finding
from parity.causes.basics.wording import shortest_decimal
from parity.causes.update.update_changes import decoupled_decay, skipped_updates, untrained_weights
from parity.comparison import stages
from parity.comparison.fits import largest, near, spread
from workloads import schedules
from workloads.support.wording import counted

if TYPE_CHECKING:
    import tensorflow as tf

    from modern.mirrored.state.variables import LocalState
    from modern.mirrored.step.step_tensors import Tensors
    from parity.comparison.setup import Setup
    from parity.diagnosis.evidence import Evidence
    from parity.diagnosis.updates import Update
    from workloads.program import State

#: The decay is a part of the change if it is at least this much of it, and explains it with at most this left over.
LEAST_SHARE, MOST_RESIDUAL = 1e-3, 1e-2

#: Decoupled decay leaves the rule's own change whole, within this part.
WHOLE = 5e-2

#: Without the decay at least this many times as much is left over.
BETTER = 20

#: The decay's multiple over the learning rate is the same in all steps within this part.
SAME_RATE = 5e-2


def weight_decay_decoupled(evidence: Evidence) -> Finding | None:
    """Recognizes WEIGHT_DECAY_DECOUPLED: the port's change is the rule's plus a multiple of the weight."""
    sides = evidence.both_updates
    if sides is None:
        return None
    left, right = sides
    if any(_lacks_decay(step) for step in right.steps) or any(_decays_already(step) for step in left.steps):
        return None
    multiples = [-step.decay.multiple for step in right.steps]
    rates = [-step.decay.multiple / step.learning_rate for step in right.steps if step.learning_rate]
    if not rates:
        return None
    if spread(rates) <= SAME_RATE:
        amount, constants = (
            f"{float(np.median(rates)):.4g} x the learning rate",
            {"rate": shortest_decimal(float(np.median(rates)), 2e-3)},
        )
    elif spread(multiples) <= SAME_RATE:
        amount = f"{float(np.median(multiples)):.4g}, whatever the learning rate,"
        constants = {"share": float(np.median(multiples))}
    else:
        return None
    return Finding(
        f"In each step the port also subtracts {amount} of every weight from it: decoupled weight decay (AdamW), which "
        "legacy does not have.",
        HIGH,
        "fit of the change by the rule's own and the weight, residual "
        f"{largest(step.decay.residual for step in right.steps):.1e}",
        constants,
    )


def _lacks_decay(step: Update) -> bool:
    """Whether the weight is no part of the change, or does not explain what the rule alone leaves over."""
    fit = step.decay
    better = not step.factor.residual < fit.residual * BETTER  # NaN where the rule expects no change at all
    whole = near(fit.predicted, 1, WHOLE) or not np.isfinite(step.factor.factor)  # scaled weights scale it, too
    explained = fit.residual <= MOST_RESIDUAL and better and whole
    return not fit.share >= LEAST_SHARE or not explained


def _decays_already(step: Update) -> bool:
    """Whether legacy's own change has the weight as a part, too."""
    return step.decay.share > LEAST_SHARE and step.decay.residual < MOST_RESIDUAL


def variable_not_trained(evidence: Evidence) -> Finding | None:
    """Recognizes VARIABLE_NOT_TRAINED: some of the port's weights never change, and legacy's do."""
    sides = evidence.both_updates
    if sides is None:
        return None
    left, right = sides
    still = [set(step.still) for step in right.steps]
    names = sorted(set.intersection(*still) - {name for step in left.steps for name in step.still})
    passed_over = [] if names else _passed_over(evidence)
    names = names or passed_over
    if not names:
        return None
    count = "One weight never changes" if len(names) == 1 else f"{len(names)} weights never change"
    slots = ", nor do their slots" if passed_over else ""
    return Finding(
        f"{count} in the port though {'there are' if passed_over else 'the optimizer gets their'} gradients{slots}: "
        f"{', '.join(names[:4])}.",
        HIGH,
        f"no bit of them changes in {counted(len(still), 'step')}, though the rule says that they should",
        {"slots": bool(passed_over)},
        variables=tuple(names),
    )


def _passed_over(evidence: Evidence) -> list[str]:
    """Weights that have gradients and whose slots do not change either: the optimizer does not know them."""
    slots = evidence.context.optimizer.slots() if evidence.context.optimizer is not None else {}
    rows = [(step.right_before, step.right.state, step.right.combined) for step in evidence.steps]
    others = [(step.left_before, step.left.state, step.left.combined) for step in evidence.steps]

    def is_still(name: str, before: State, after: State) -> bool:
        keys = [f"{name}/{slot}" for slot in slots]
        arrays = [(before.weights, after.weights, name), *((before.slots, after.slots, key) for key in keys)]
        return all(key in old and key in new and np.array_equal(old[key], new[key]) for old, new, key in arrays)

    return sorted(
        name
        for name in (rows[0][2] if slots and rows else ())
        if all(is_still(name, before, after) for before, after, _ in rows)
        and any(np.any(combined.get(name, 0)) for _, _, combined in rows)
        and not any(is_still(name, before, after) for before, after, _ in others)
    )


def update_skipped(evidence: Evidence) -> Finding | None:
    """Recognizes UPDATE_SKIPPED: none of the port's weights changes in some steps, in one of which legacy's do."""
    sides = evidence.both_updates
    if sides is None:
        return None
    left, right = sides
    skipped = [step.step for step in right.steps if step.still and not step.factor.factor]
    moved = {step.step for step in left.steps if step.factor.factor}
    if not skipped or len(skipped) == len(right.steps) or not moved & set(skipped):
        return None
    return Finding(
        f"None of the port's weights changes in {len(skipped)} of {len(right.steps)} steps (first at step "
        f"{skipped[0]}); legacy's weights change.",
        HIGH,
        "no bit of any weight changes in these steps, though the optimizer gets gradients",
        steps=tuple(skipped),
    )


def _inject_decay(finding: Finding, setup: Setup) -> injection.Change | None:
    return decoupled_decay(finding.constants["rate"]) if "rate" in finding.constants else None


def _inject_still(finding: Finding, setup: Setup) -> injection.Change:
    return untrained_weights(finding.variables, with_slots=bool(finding.constants.get("slots")))


def _inject_skipped(finding: Finding, setup: Setup) -> injection.Change:
    return skipped_updates(finding.steps)


class _UpdateEverySecondStep(injection.WrappedRules):
    """Updates weights and slots in even steps only."""

    def apply(self, local: LocalState, gradients: Tensors, rate: tf.Tensor) -> None:
        import tensorflow as tf

        variables = [*local.weights.values(), *local.slots.values()]
        before = [variable.read_value() for variable in variables]
        is_even = tf.equal(tf.math.floormod(local.step.read_value(), 2), 0)
        self._rules.apply(local, gradients, rate)
        for variable, old in zip(variables, before):
            variable.assign(tf.where(is_even, variable.read_value(), old))


class _DecoupledDecay(injection.WrappedRules):
    """Also subtracts 0.05 times the learning rate of every weight from it."""

    def apply(self, local: LocalState, gradients: Tensors, rate: tf.Tensor) -> None:
        import tensorflow as tf

        before = {name: local.weights[name].read_value() for name in gradients}
        self._rules.apply(local, gradients, rate)
        for name, old in before.items():
            local.weights[name].assign_sub(tf.cast(rate, old.dtype) * tf.constant(0.05, old.dtype) * old)


class _DecayOfMatrices(injection.WrappedRules):
    """Also subtracts 0.05 times the learning rate of every matrix from it, and of no bias."""

    def apply(self, local: LocalState, gradients: Tensors, rate: tf.Tensor) -> None:
        import tensorflow as tf

        before = {name: local.weights[name].read_value() for name in gradients if gradients[name].shape.rank > 1}
        self._rules.apply(local, gradients, rate)
        for name, old in before.items():
            local.weights[name].assign_sub(tf.cast(rate, old.dtype) * tf.constant(0.05, old.dtype) * old)


class _DecayWithoutRate(injection.WrappedRules):
    """Also subtracts a thousandth of every weight from it, whatever the learning rate."""

    def apply(self, local: LocalState, gradients: Tensors, rate: tf.Tensor) -> None:
        before = {name: local.weights[name].read_value() for name in gradients}
        self._rules.apply(local, gradients, rate)
        for name, old in before.items():
            local.weights[name].assign_sub(old * 1e-3)


class _FirstWeightNotTrained(injection.WrappedRules):
    """Puts the first weight's old value back after each update."""

    def apply(self, local: LocalState, gradients: Tensors, rate: tf.Tensor) -> None:
        name = next(iter(gradients))
        before = local.weights[name].read_value()
        self._rules.apply(local, gradients, rate)
        local.weights[name].assign(before)


_decaying_rate = injection.with_fields(learning_rate=schedules.ExponentialDecay(0.01, 2, 0.5, staircase=True))

#: All criteria of this file, for a criterion that applies only if none of them does.
CRITERIA = (weight_decay_decoupled, variable_not_trained, update_skipped)

CAUSES = (
    Cause(
        id="WEIGHT_DECAY_DECOUPLED",
        stage=stages.WEIGHTS,
        covers=(stages.WEIGHTS,),
        title="decoupled weight decay",
        signature="The change of the weights is the rule's own plus a multiple of the weight",
        why="The weight_decay argument of Keras's optimizers decays weights apart from the gradient (AdamW).",
        fix="Leave weight_decay unset and keep the penalty in the loss.",
        criterion=weight_decay_decoupled,
        change=_inject_decay,
        faults=(
            Fault("decoupled_decay", injection.in_update_rules(_DecoupledDecay)),
            Fault("decay_without_the_learning_rate", injection.in_update_rules(_DecayWithoutRate), _decaying_rate),
            Fault("decoupled_decay_of_matrices", injection.in_update_rules(_DecayOfMatrices)),
        ),
        by_variable=True,
    ),
    Cause(
        id="VARIABLE_NOT_TRAINED",
        stage=stages.WEIGHTS,
        covers=(stages.WEIGHTS, stages.SLOTS),
        title="a variable is not trained",
        signature="No bit of a weight changes though it has a gradient",
        why="The variable is missing from the list that the optimizer gets, or has trainable=False.",
        fix="Give the optimizer every trainable variable.",
        criterion=variable_not_trained,
        change=_inject_still,
        faults=(Fault("first_weight_not_trained", injection.in_update_rules(_FirstWeightNotTrained)),),
    ),
    Cause(
        id="UPDATE_SKIPPED",
        stage=stages.WEIGHTS,
        title="some steps update nothing",
        signature="No weight changes in some steps",
        why="Gradients are accumulated, a loss scale skips steps, or the update is under a condition.",
        fix="Update in every step, or give legacy the same condition.",
        criterion=update_skipped,
        change=_inject_skipped,
        by_step=False,
        faults=(Fault("every_second_update_skipped", injection.in_update_rules(_UpdateEverySecondStep)),),
    ),
)
