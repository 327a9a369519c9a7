"""Causes in the update: slots, epsilons, forms of momentum, variables that are not trained."""

from __future__ import annotations

import dataclasses

import numpy as np

from parity import stages
from parity.causes import planting
from parity.causes.cause import HIGH, LOW, MEDIUM, Cause, Fault, Found
from parity.causes.scale import number
from parity.diagnosis.fits import near, spread
from workloads import optimizers, schedules

#: A form of the rule explains a step below this misfit, which is about 1 where rounding alone is left; see `updates`.
EXPLAINED = 20.0

#: Another form must explain so much better before it is named.
BETTER = 5.0


def _sides(evidence):
    """(left, right) updates if both can be followed, else None."""
    left, right = evidence.updates
    return (left, right) if left is not None and right is not None else None


def rmsprop_ones(evidence):
    values = evidence.initial.slots.get("rms")
    if values is None:
        return None
    return Found(
        "RMSProp's mean square starts at {:g} in legacy and at {:g} in the port: the first updates differ by a factor "
        "of sqrt(1 / (1 - decay) g^2) or so.".format(*values),
        HIGH,
        "read from the slots before the first step",
    )


def slot_start(evidence):
    of_constants = ("rms", "beta1_power", "beta2_power")  # the powers start at the betas: `OPTIMIZER_CONSTANT`
    values = {slot: pair for slot, pair in evidence.initial.slots.items() if slot not in of_constants}
    if not values:
        return None
    return Found(
        "; ".join("slot {} starts at {:g} in legacy and at {:g} in the port".format(s, *p) for s, p in values.items())
        + ".",
        HIGH,
        "read from the slots before the first step",
    )


def slots_lost(evidence):
    start = evidence.initial
    if not start.reset or start.weights:
        return None
    return Found(
        "The weights are legacy's of step {} and {} slots are as in a new optimizer ({}): the checkpoint's slots were "
        "not restored.".format(
            start.step, len(start.reset), ", ".join("{} = {:g}".format(*item) for item in start.reset_to.items())
        ),
        HIGH,
        "weights have identical bits, the slots are one constant",
    )


def _better(sides, evidence, prefix):
    """The first form of the right that explains it where its own does not, or None."""
    left, right = sides
    own = next(iter(right.steps[0].forms))
    if right.misfit(own) <= EXPLAINED and not _beaten(right, own, prefix):
        return None
    names = [name for name in right.steps[0].forms if name.startswith(prefix)]
    best = min(names, key=right.misfit, default=None)
    if (
        best is None
        or right.misfit(best) * BETTER > right.misfit(own)
        or right.misfit(best) > max(10 * EXPLAINED, 1e-3 * right.misfit(own))
    ):
        return None
    return best if left.misfit(best) * 2 > left.misfit(own) else None


def _beaten(updates, own, prefix):
    return any(updates.misfit(n) * BETTER < updates.misfit(own) for n in updates.steps[0].forms if n.startswith(prefix))


def epsilon(kind):
    """A rule for optimizers of class `kind`."""

    def rule(evidence):
        sides = _sides(evidence)
        if sides is None or not isinstance(evidence.context.optimizer, kind):
            return None
        best = _better(sides, evidence, "epsilon ")
        if best is None:
            return None
        used = best.split()[1]
        return Found(
            "{} in the port uses epsilon {} where legacy uses {:g}: worst where gradients are small.".format(
                kind.__name__, used, evidence.context.optimizer.epsilon
            ),
            HIGH,
            "with {} the update is explained to {:.1f} roundings (root mean square), with legacy's to {:.0f}".format(
                used, sides[1].misfit(best), sides[1].misfit(next(iter(sides[1].steps[0].forms)))
            ),
        )

    return rule


def form(evidence):
    sides = _sides(evidence)
    rule = evidence.context.optimizer
    if sides is None or isinstance(rule, optimizers.RMSProp):
        return None
    others = [name for name in sides[1].steps[0].forms if name in ("nesterov", "heavy ball", "no bias correction")]
    own = next(iter(sides[1].steps[0].forms))
    good = [
        name for name in others if sides[1].explained_by(name) and sides[1].misfit(name) * BETTER < sides[1].misfit(own)
    ]
    good = [name for name in good if not sides[0].explained_by(name)]
    if not good:
        return None
    return Found(
        "The port's update is {} and legacy's is not.".format(good[0]),
        HIGH,
        "explained to {:.1f} roundings by that form, to {:.0f} by legacy's".format(
            sides[1].misfit(good[0]), sides[1].misfit(own)
        ),
    )


def _momentum_fits(evidence):
    sides = _sides(evidence)
    if sides is None or not isinstance(evidence.context.optimizer, optimizers.Momentum):
        return None
    left, right = (side.slots["momentum"] for side in sides)
    rates = {step.step: step.rate for step in sides[1].steps}
    return left, right, rates


def _keeps_rate(fits, rates):
    """Whether a slot takes up -rate times the gradient: Keras's convention."""
    known = [fit for fit in fits if fit.gain_size > 1e-3 and fit.residual < 1e-3]
    return bool(known) and all(near(fit.gain, -rates[fit.step], 1e-3) for fit in known)


def momentum_form(evidence):
    found = _momentum_fits(evidence)
    if found is None:
        return None
    left, right, rates = found
    m = evidence.context.optimizer.momentum
    changes = [f for f in right if f.step - 1 in rates and not near(rates[f.step], rates[f.step - 1], 1e-6)]
    if _keeps_rate(right, rates) and changes:
        return _rate_inside(evidence, rates)
    odd = [f for f in changes if f.old_size > 1e-3 and near(f.keep, m * rates[f.step - 1] / rates[f.step], 2e-3)]
    if not odd or len(odd) < len([f for f in changes if f.old_size > 1e-3]):
        return None
    return _rate_inside(evidence, rates, odd[0].keep)


def _rate_inside(evidence, rates, keep=None):
    m = evidence.context.optimizer.momentum
    return Found(
        "The port's momentum keeps the learning rate inside the slot (v = {:g} v - rate g), so a change of the rate "
        "acts on new gradients only; legacy's acts on all of it.".format(m),
        HIGH,
        "the rate changes {} times; {}".format(
            len(set(rates.values())) - 1,
            "there the slot keeps {} of itself in legacy's terms".format(number(keep))
            if keep is not None
            else "the slot takes up -rate times the gradient",
        ),
    )


def slot_convention(evidence):
    found = _momentum_fits(evidence)
    if found is None:
        return None
    left, right, rates = found
    if not _keeps_rate(right, rates) or _keeps_rate(left, rates) or len(set(rates.values())) > 1:
        return None
    return Found(
        "The port's momentum slot is -rate times legacy's (v = -{:g} a): Keras's convention, the same path while the "
        "rate is constant.".format(next(iter(rates.values()))),
        HIGH,
        "the slot takes up {} times the gradient in every step".format(number(right[0].gain)),
    )


def constants(evidence):
    sides = _sides(evidence)
    if sides is None:
        return None
    rates = {step.step: step.rate for step in sides[1].steps}
    for slot in sides[1].slots:
        a, b = (_constant(side.slots[slot], slot != "momentum") for side in sides)
        if not (np.isfinite(a) and np.isfinite(b)) or near(a, b, 2e-3) or near(1 - a, 1 - b, 2e-3):
            continue
        if slot == "momentum" and (momentum_form(evidence) or _keeps_rate(sides[1].slots[slot], rates)):
            continue
        return Found(
            "Slot {} keeps {} of itself in each of the port's steps and {} in legacy's: another {}.".format(
                slot, number(b), number(a), {"m": "beta1", "v": "beta2", "rms": "decay"}.get(slot, "momentum")
            ),
            HIGH,
            "least-squares fit of the slot by its old value and the gradient, in {} steps".format(len(sides[1].steps)),
        )
    return None


def _constant(fits, averaging):
    """What a slot keeps of itself, from the steps in which that can be told; not-a-number if they do not agree.

    Args:
      averaging: whether what it takes up is one minus what it keeps, so that an empty slot tells too.
    """
    known = [f for f in fits if f.residual < 1e-3]
    keeps = [f.keep for f in known if f.old_size > 1e-2 and f.gain_size > 1e-6]
    gains = [1 - f.gain for f in known if f.old_size <= 1e-2]
    values = keeps or (gains if averaging else [])
    return float(np.median(values)) if values and spread(values) < 1e-2 else float("nan")


def scaled_update(evidence):
    sides = _sides(evidence)
    if sides is None or form(evidence) or not evidence.rates.equal:
        return None
    left, right = ([step.factor for step in side.steps] for side in sides)
    ratios = [b.factor / a.factor for a, b in zip(left, right) if a.factor]
    if not ratios or spread(ratios) > 1e-3 or near(ratios[0], 1, 1e-3) or max(b.residual for b in right) > 1e-2:
        return None
    if any(_better(sides, evidence, name) for name in ("epsilon ", "keras slot")):
        return None
    return Found(
        "The port moves its weights {} x as far as its own gradient, slots and rate say.".format(number(ratios[0])),
        HIGH,
        "the same factor in {} steps, residual {:.1e}".format(len(ratios), max(b.residual for b in right)),
    )


def decoupled(evidence):
    sides = _sides(evidence)
    if sides is None:
        return None
    rows = [(step.decay, step.factor.residual, step.rate) for step in sides[1].steps]
    lefts = [step.decay for step in sides[0].steps]
    if any(share < 1e-3 or left > 1e-2 or left * 20 > alone for (_, share, left), alone, _ in rows):
        return None
    rates = [c / rate for (c, _, _), _, rate in rows if rate]
    if not rates or spread(rates) > 5e-2 or any(share > 1e-3 and rest < 1e-2 for _, share, rest in lefts):
        return None
    return Found(
        "The port's update also takes {:.4g} x the rate of every weight: decoupled weight decay (AdamW), which legacy "
        "does not have.".format(-float(np.median(rates))),
        HIGH,
        "fit of the change by the rule's own and the weight, residual {:.1e}".format(max(row[0][2] for row in rows)),
    )


def not_trained(evidence):
    sides = _sides(evidence)
    if sides is None:
        return None
    still = [set(step.still) for step in sides[1].steps]
    names = sorted(set.intersection(*still) - set.union(*[set(step.still) for step in sides[0].steps]))
    if not names:
        return None
    return Found(
        "{} never change{} in the port though the optimizer gets their gradients: {}.".format(
            "One weight" if len(names) == 1 else "{} weights".format(len(names)),
            "s" if len(names) == 1 else "",
            ", ".join(names[:4]),
        ),
        HIGH,
        "no bit of them moves in {} steps; the rule says they should".format(len(still)),
    )


def skipped(evidence):
    sides = _sides(evidence)
    if sides is None:
        return None
    whole = [step.step for step in sides[1].steps if step.still and not step.factor.factor]
    moved = {step.step for step in sides[0].steps if step.factor.factor}
    if not whole or len(whole) == len(sides[1].steps) or not moved & set(whole):
        return None
    return Found(
        "No weight of the port moves in {} of {} steps (first at step {}); legacy's do.".format(
            len(whole), len(sides[1].steps), whole[0]
        ),
        HIGH,
        "no bit of any weight changes there, though the optimizer gets gradients",
    )


def sparse(evidence):
    sides = _sides(evidence)
    if sides is None:
        return None
    for name in {name for step in sides[1].steps for name in step.rows}:
        rows = [step.rows[name] for step in sides[1].steps if name in step.rows]
        mine = [step.rows[name] for step in sides[0].steps if name in step.rows]
        touched, untouched = (float(np.mean([row[i] for row in rows])) for i in (0, 1))
        others = {weight for step in sides[1].steps for weight in step.wrong if weight != name}
        if any(max(row) > 0 for row in mine) or others:
            continue
        if touched > 0 and untouched == 0:
            return Found(
                "Only rows of {} that this step's examples touch differ, and not all of them ({:.0%}): duplicate rows "
                "are applied one by one instead of summed first.".format(name, touched),
                HIGH if touched < 1 else MEDIUM,
                "every other weight and row is explained by legacy's rule to rounding",
            )
        if untouched > 0 and touched == 0:
            return Found(
                "Only rows of {} without a gradient differ ({:.0%} of them): one side moves them on by momentum, the "
                "other leaves them.".format(name, untouched),
                HIGH,
                "touched rows are explained by legacy's rule to rounding",
            )
    return None


def unknown_update(evidence):
    sides = _sides(evidence)
    others = (form, momentum_form, slot_convention, constants, scaled_update, decoupled, not_trained, sparse)
    others += (skipped,)
    others += tuple(epsilon(kind) for kind in (optimizers.Adam, optimizers.RMSProp, optimizers.Adagrad))
    if sides is None or any(rule(evidence) for rule in others):
        return None
    own = next(iter(sides[1].steps[0].forms))
    if sides[1].misfit(own) <= 50 * EXPLAINED or sides[0].misfit(own) > EXPLAINED:
        return None
    return Found(
        "The port's weights do not move by {} of its own gradient, slots and rate (best: {} x the expected change, "
        "residual {:.1e}).".format(
            type(evidence.context.optimizer).__name__,
            number(sides[1].steps[0].factor.factor),
            sides[1].steps[0].factor.residual,
        ),
        LOW,
        "legacy's do, to {:.1f} roundings; no form or constant in the catalogue fits".format(sides[0].misfit(own)),
    )


def _zero_slots(kind, value=0.0):
    def change(state, setup):
        state.slots = {
            name: np.full_like(array, value) if name.endswith("/" + kind) else array
            for name, array in state.slots.items()
        }

    return change


def _forget_slots(state, setup):
    rule = setup.job.workload.optimizer
    start = {**rule.slots(), **rule.accumulators()}
    state.slots = {name: np.full_like(array, start[name.rsplit("/", 1)[-1]]) for name, array in state.slots.items()}


def _optimizer(**changes):
    return planting.fields(lambda job: {"optimizer": dataclasses.replace(job.workload.optimizer, **changes)})


class _Rules:
    """Update rules that wrap others."""

    def __init__(self, rules):
        self._rules = rules

    def __getattr__(self, name):
        return getattr(self._rules, name)


class _Further(_Rules):
    """Weights move twice as far as the rule says."""

    def apply(self, local, gradients, rate):
        before = {name: local.weights[name].read_value() for name in gradients}
        self._rules.apply(local, gradients, rate)
        for name, old in before.items():
            local.weights[name].assign(old + 2.0 * (local.weights[name].read_value() - old))


class _EverySecond(_Rules):
    """Weights and slots move in even steps only."""

    def apply(self, local, gradients, rate):
        import tensorflow as tf

        variables = list(local.weights.values()) + list(local.slots.values())
        before = [variable.read_value() for variable in variables]
        even = tf.equal(tf.math.floormod(local.step.read_value(), 2), 0)
        self._rules.apply(local, gradients, rate)
        for variable, old in zip(variables, before):
            variable.assign(tf.where(even, variable.read_value(), old))


class _Decoupled(_Rules):
    def apply(self, local, gradients, rate):
        import tensorflow as tf

        before = {name: local.weights[name].read_value() for name in gradients}
        self._rules.apply(local, gradients, rate)
        for name, old in before.items():
            local.weights[name].assign_sub(tf.cast(rate, old.dtype) * tf.constant(0.05, old.dtype) * old)


class _FirstKept(_Rules):
    """The first weight keeps its value."""

    def apply(self, local, gradients, rate):
        name = next(iter(gradients))
        before = local.weights[name].read_value()
        self._rules.apply(local, gradients, rate)
        local.weights[name].assign(before)


def _raw_slots(record):
    record.state.slots = {
        name: value * np.asarray(-float(record.learning_rate), value.dtype) if name.endswith("/momentum") else value
        for name, value in record.state.slots.items()
    }


_adam = planting.having(optimizer=optimizers.Adam())
_small_gradients = planting.having(optimizer=optimizers.Adam(epsilon=1e-8))
_momentum = planting.having(optimizer=optimizers.Momentum(), learning_rate=schedules.Fixed(0.01))
_momentum_decaying = planting.having(
    optimizer=optimizers.Momentum(), learning_rate=schedules.PiecewiseConstant((3,), (0.01, 0.001))
)
_rmsprop = planting.having(optimizer=optimizers.RMSProp(), learning_rate=schedules.Fixed(1e-3))
_adagrad = planting.having(optimizer=optimizers.Adagrad(), learning_rate=schedules.Fixed(1e-2))


CAUSES = (
    Cause(
        "RMSPROP_INIT_ONES",
        stages.INITIAL,
        "RMSProp's mean square starts at ones in 1.x and at zeros in Keras",
        "slot rms is 1 against 0 before the first step; step-1 updates differ by hundreds, then less and less",
        "tf.train.RMSPropOptimizer starts its mean square at ones; Keras's at zeros, with epsilon 1e-7 for 1e-10.",
        "Keep the 1.x kernel, or set Keras's velocities to ones and epsilon to 1e-10 before the first step.",
        rmsprop_ones,
        (Fault("rmsprop_from_zeros", planting.state(_zero_slots("rms")), _rmsprop),),
        "R11",
    ),
    Cause(
        "SLOT_START",
        stages.INITIAL,
        "a slot starts at another value",
        "a slot is one constant on each side before the first step, and they differ",
        "Defaults differ between libraries (Adagrad's initial accumulator, PyTorch's zeros).",
        "Give the port legacy's initial value.",
        slot_start,
        (Fault("adagrad_from_zeros", planting.state(_zero_slots("accumulator", 1e-3)), _adagrad),),
    ),
    Cause(
        "CKPT_SLOTS_LOST",
        stages.INITIAL,
        "the optimizer's slots were not restored",
        "weights equal, the port's slots are those of a new optimizer; the first update is a cold start",
        "Name-based checkpoints do not match object-based optimizers: weights load by shape, slots silently do not. A "
        "step count of zero also replays Adam's bias correction.",
        "Convert slots and the step too (python -m legacy.convert); assert_consumed() on restore.",
        slots_lost,
        (
            Fault("slots_not_restored", planting.state(_forget_slots), _momentum, start=3),
            Fault("adam_slots_not_restored", planting.state(_forget_slots), _adam, start=3),
        ),
        "R31",
    ),
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
        "MOMENTUM_FORM",
        stages.SLOTS,
        "the learning rate is inside the momentum",
        "equal until the rate changes; then the update is up to the rates' ratio too large, decaying as m^k",
        "1.x: a = m a + g, w -= rate a. Keras: v = m v - rate g, w += v. The same while the rate is constant.",
        "Keep the 1.x kernel, or rescale the slots when the rate changes.",
        momentum_form,
        (Fault("keras_momentum", planting.options(update_rules="keras"), _momentum_decaying),),
        "R13",
    ),
    Cause(
        "SLOT_CONVENTION",
        stages.SLOTS,
        "the momentum slot has another sign and scale",
        "slot ratio -rate, weights equal",
        "Keras's slot is v = -rate a.",
        "Map slots before comparing or converting them: a = -v / rate.",
        slot_convention,
        (Fault("momentum_slots_as_keras_has_them", planting.record(_raw_slots), _momentum),),
        "R14",
        bug=False,
    ),
    Cause(
        "OPTIMIZER_CONSTANT",
        stages.SLOTS,
        "another momentum, beta or decay",
        "a slot keeps another part of itself",
        "Defaults differ, or a constant was not carried over.",
        "Give the port legacy's constants.",
        constants,
        (
            Fault("other_beta1", _optimizer(beta1=0.8), _adam),
            Fault("other_beta2", _optimizer(beta2=0.99), _adam),
            Fault("other_momentum", _optimizer(momentum=0.8), _momentum),
            Fault("other_decay", _optimizer(decay=0.8), _rmsprop),
        ),
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
        (Fault("update_applied_twice", planting.rules(_Further)),),
    ),
    Cause(
        "WEIGHT_DECAY_DECOUPLED",
        stages.WEIGHTS,
        "decoupled weight decay",
        "the change of the weights fits the rule's own plus a multiple of the weight",
        "Keras optimizers' weight_decay argument decouples it from the gradient (AdamW).",
        "Leave weight_decay unset and keep the penalty in the loss.",
        decoupled,
        (Fault("decoupled_decay", planting.rules(_Decoupled)),),
    ),
    Cause(
        "VARIABLE_NOT_TRAINED",
        stages.WEIGHTS,
        "a variable is not trained",
        "a weight keeps every bit though it has a gradient",
        "A variable made outside the list that the optimizer gets, or with trainable=False.",
        "Give the optimizer every trainable variable.",
        not_trained,
        (Fault("first_weight_not_trained", planting.rules(_FirstKept)),),
    ),
    Cause(
        "UPDATE_SKIPPED",
        stages.WEIGHTS,
        "some steps update nothing",
        "no weight moves in some steps",
        "Gradient accumulation, a loss scale that skips steps, an update behind a condition.",
        "Update in every step, or give legacy the same condition.",
        skipped,
        (Fault("every_second_update_skipped", planting.rules(_EverySecond)),),
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
