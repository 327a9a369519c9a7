"""Causes in the moving averages of the weights."""

from __future__ import annotations

import numpy as np

from parity.causes import injection
from parity.causes.cause import HIGH, Cause, Fault, Finding
from parity.causes.wording import format_number
from parity.comparison import stages
from parity.comparison.fits import near, spread
from workloads.workload import MovingAverage

#: An average's share is known where the change stands out of rounding.
LOUD = 0.2


def _shares(averages):
    """{step: share of the new weight} of the steps in which it can be told."""
    return {a.step: a.new.factor for a in averages if a.moved and a.noise < LOUD and a.new.residual < 0.1}


def _pairs(evidence):
    left, right = (_shares(side) for side in evidence.averages)
    return [(step, left[step], right[step]) for step in left if step in right]


def warm_up(evidence):
    pairs = _pairs(evidence)
    if len(pairs) < 2 or all(near(b, a, 2e-2) for _, a, b in pairs):
        return None

    def warm(values):
        return all(near(value, 1 - (2 + step) / (11 + step), 2e-2) for step, value in values)

    left, right = ([(s, (a, b)[i]) for s, a, b in pairs] for i in (0, 1))
    if warm(left) == warm(right):
        return None
    constant = [value for _, value in (right if warm(left) else left)]
    if spread(constant) > 5e-2:
        return None
    return Finding(
        "{} averages warm up, with decay min(decay, (1 + n) / (10 + n)), and {}'s take {} of the weight in every "
        "step.".format(
            *(("Legacy's", "the port") if warm(left) else ("The port's", "legacy")), format_number(constant[0])
        ),
        HIGH,
        f"share of the new weight fitted in {len(pairs)} steps",
    )


def stale(evidence):
    left, right = evidence.averages
    told = [a for a in right if a.moved and a.noise < 2e-3]
    if not told or not all(a.old.residual < 2e-2 and a.new.residual > 10 * a.old.residual for a in told):
        return None
    if not any(a.moved and a.new.residual < 1e-2 for a in left):
        return None
    return Finding(
        "The port averages the weights before the update and legacy those after it.",
        HIGH,
        f"the change of the averages fits the old weights (residual {max(a.old.residual for a in told):.1e}) and not the new ones ({min(a.new.residual for a in told):.1e})",
    )


def skipped(evidence):
    left, right = evidence.averages
    moved = {a.step: a.moved for a in left}
    still = [a.step for a in right if not a.moved and moved.get(a.step)]
    if not still or stale(evidence):
        return None
    return Finding(
        f"The port does not move its averages in {len(still)} of {len(right)} steps (first at step {still[0]}).",
        HIGH,
        "no bit of them changes there; legacy's change",
    )


def decay(evidence):
    pairs = _pairs(evidence)
    ratios = [b / a for _, a, b in pairs if a]
    if not ratios or warm_up(evidence) or stale(evidence) or near(float(np.median(ratios)), 1, 2e-2):
        return None
    return Finding(
        f"The port's averages take {format_number(pairs[-1][2])} of the new weight in a step and legacy's {format_number(pairs[-1][1])}: another decay.",
        HIGH,
        f"share of the new weight fitted in {len(pairs)} steps",
    )


class _Before(injection.ScaledStep):
    """The averages are moved before the update."""

    def __call__(self, batch):
        import tensorflow as tf

        replica = int(tf.get_static_value(tf.distribute.get_replica_context().replica_id_in_sync_group))
        local = self._variables.local(replica)
        self._kept = {name: variable.read_value() for name, variable in local.weights.items()}
        with tf.control_dependencies(list(self._kept.values())):
            return super().__call__({name: tf.identity(value) for name, value in batch.items()})

    def _update_averages(self, local):
        import tensorflow as tf

        new = {name: variable.read_value() for name, variable in local.weights.items()}
        for name, value in self._kept.items():
            local.weights[name].assign(value)
        super()._update_averages(local)
        for name, value in new.items():
            local.weights[name].assign(tf.identity(value))


class _Sometimes(injection.ScaledStep):
    """The averages are moved in even steps only."""

    def _update_averages(self, local):
        import tensorflow as tf

        before = {name: variable.read_value() for name, variable in local.averages.items()}
        super()._update_averages(local)
        odd = tf.equal(tf.math.floormod(local.step.read_value(), 2), 0)
        for name, variable in local.averages.items():
            variable.assign(tf.where(odd, before[name], variable.read_value()))


def _average(**changes):
    return injection.in_workload(lambda job: {"moving_average": MovingAverage(**{**_RULE, **changes})})


_RULE = {"decay": 0.99, "warm_up": True}
_averaging = injection.with_fields(moving_average=MovingAverage(**_RULE))
_averaging_at_once = injection.with_fields(moving_average=MovingAverage(0.9, False))

CAUSES = (
    Cause(
        "EMA_STALE",
        stages.AVERAGES,
        "the averages are moved before the update",
        "their change fits the weights before the step",
        "A moving average grouped with the update instead of run after it.",
        "Move the averages after the optimizer's update (control dependency, or the order of statements).",
        stale,
        (Fault("averages_before_the_update", injection.in_replica_step(_Before), _averaging),),
    ),
    Cause(
        "EMA_SKIPPED",
        stages.AVERAGES,
        "the averages are not moved in every step",
        "averages keep every bit in some steps",
        "An update behind a condition, or every few steps.",
        "Move them in every step.",
        skipped,
        (Fault("averages_every_other_step", injection.in_replica_step(_Sometimes), _averaging),),
    ),
    Cause(
        "EMA_WARM_UP",
        stages.AVERAGES,
        "the averages' decay does not warm up",
        "legacy's share of the new weight is 1 - (1 + n) / (10 + n), the port's is constant",
        "ExponentialMovingAverage(num_updates=step) warms up; Keras's use_ema does not.",
        "Compute the decay as min(decay, (1 + n) / (10 + n)).",
        warm_up,
        (Fault("averages_without_warm_up", _average(warm_up=False), _averaging),),
    ),
    Cause(
        "EMA_DECAY",
        stages.AVERAGES,
        "another decay of the averages",
        "the share of the new weight differs",
        "A constant that was not carried over.",
        "Give the port legacy's decay.",
        decay,
        (
            Fault(
                "another_decay_of_the_averages",
                injection.in_workload(lambda job: {"moving_average": MovingAverage(0.8, False)}),
                _averaging_at_once,
            ),
        ),
    ),
)
