"""Causes in how far weights move: not at all, not always, or by more than the rule says."""

from __future__ import annotations

import numpy as np

from parity.causes import injection
from parity.causes.cause import HIGH, Cause, Fault, Finding
from parity.comparison import stages
from parity.comparison.fits import spread


def decoupled(evidence):
    sides = evidence.both_updates
    if sides is None:
        return None
    rows = [(step.decay, step.factor.residual, step.learning_rate) for step in sides[1].steps]
    lefts = [step.decay for step in sides[0].steps]
    if any(share < 1e-3 or left > 1e-2 or left * 20 > alone for (_, share, left), alone, _ in rows):
        return None
    rates = [c / rate for (c, _, _), _, rate in rows if rate]
    if not rates or spread(rates) > 5e-2 or any(share > 1e-3 and rest < 1e-2 for _, share, rest in lefts):
        return None
    return Finding(
        f"The port's update also takes {-float(np.median(rates)):.4g} x the rate of every weight: decoupled weight decay (AdamW), which legacy "
        "does not have.",
        HIGH,
        f"fit of the change by the rule's own and the weight, residual {max(row[0][2] for row in rows):.1e}",
    )


def not_trained(evidence):
    sides = evidence.both_updates
    if sides is None:
        return None
    still = [set(step.still) for step in sides[1].steps]
    names = sorted(set.intersection(*still) - set.union(*[set(step.still) for step in sides[0].steps]))
    if not names:
        return None
    return Finding(
        "{} never change{} in the port though the optimizer gets their gradients: {}.".format(
            "One weight" if len(names) == 1 else f"{len(names)} weights",
            "s" if len(names) == 1 else "",
            ", ".join(names[:4]),
        ),
        HIGH,
        f"no bit of them moves in {len(still)} steps; the rule says they should",
    )


def skipped(evidence):
    sides = evidence.both_updates
    if sides is None:
        return None
    whole = [step.step for step in sides[1].steps if step.still and not step.factor.factor]
    moved = {step.step for step in sides[0].steps if step.factor.factor}
    if not whole or len(whole) == len(sides[1].steps) or not moved & set(whole):
        return None
    return Finding(
        f"No weight of the port moves in {len(whole)} of {len(sides[1].steps)} steps (first at step {whole[0]}); legacy's do.",
        HIGH,
        "no bit of any weight changes there, though the optimizer gets gradients",
    )


class _EverySecond(injection.WrappedRules):
    """Weights and slots move in even steps only."""

    def apply(self, local, gradients, rate):
        import tensorflow as tf

        variables = list(local.weights.values()) + list(local.slots.values())
        before = [variable.read_value() for variable in variables]
        even = tf.equal(tf.math.floormod(local.step.read_value(), 2), 0)
        self._rules.apply(local, gradients, rate)
        for variable, old in zip(variables, before):
            variable.assign(tf.where(even, variable.read_value(), old))


class _Decoupled(injection.WrappedRules):
    def apply(self, local, gradients, rate):
        import tensorflow as tf

        before = {name: local.weights[name].read_value() for name in gradients}
        self._rules.apply(local, gradients, rate)
        for name, old in before.items():
            local.weights[name].assign_sub(tf.cast(rate, old.dtype) * tf.constant(0.05, old.dtype) * old)


class _FirstKept(injection.WrappedRules):
    """The first weight keeps its value."""

    def apply(self, local, gradients, rate):
        name = next(iter(gradients))
        before = local.weights[name].read_value()
        self._rules.apply(local, gradients, rate)
        local.weights[name].assign(before)


#: All criteria of this file, for a criterion that applies only if none of them does.
CRITERIA = (decoupled, not_trained, skipped)

CAUSES = (
    Cause(
        "WEIGHT_DECAY_DECOUPLED",
        stages.WEIGHTS,
        "decoupled weight decay",
        "the change of the weights fits the rule's own plus a multiple of the weight",
        "Keras optimizers' weight_decay argument decouples it from the gradient (AdamW).",
        "Leave weight_decay unset and keep the penalty in the loss.",
        decoupled,
        (Fault("decoupled_decay", injection.in_update_rules(_Decoupled)),),
    ),
    Cause(
        "VARIABLE_NOT_TRAINED",
        stages.WEIGHTS,
        "a variable is not trained",
        "a weight keeps every bit though it has a gradient",
        "A variable made outside the list that the optimizer gets, or with trainable=False.",
        "Give the optimizer every trainable variable.",
        not_trained,
        (Fault("first_weight_not_trained", injection.in_update_rules(_FirstKept)),),
    ),
    Cause(
        "UPDATE_SKIPPED",
        stages.WEIGHTS,
        "some steps update nothing",
        "no weight moves in some steps",
        "Gradient accumulation, a loss scale that skips steps, an update behind a condition.",
        "Update in every step, or give legacy the same condition.",
        skipped,
        (Fault("every_second_update_skipped", injection.in_update_rules(_EverySecond)),),
    ),
)
