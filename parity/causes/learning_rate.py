"""Causes in the learning rate."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from parity.causes import injection
from parity.causes.cause import HIGH, MEDIUM, Cause, Fault, Finding
from parity.causes.wording import format_number
from parity.comparison import stages
from parity.comparison.fits import near, spread
from workloads import schedules

SCHEDULE = schedules.ExponentialDecay(0.01, 2, 0.5, staircase=True)


def step_counter(evidence):
    rates, replicas = evidence.learning_rates, evidence.replicas
    if rates.equal or replicas < 2 or _frozen(rates):
        return None
    for factor, text in ((replicas, "{} x too early: the step counts every replica"), (1 / replicas, "{} x too late")):
        if rates.explains(factor):
            return Finding(
                "The learning rate of step t is legacy's of step {}: its knees come {}.".format(
                    f"{replicas} t" if factor > 1 else f"t / {replicas}", text.format(replicas)
                ),
                HIGH,
                f"all {len(rates.steps)} rates agree with legacy's of those steps to 1e-6",
            )
    for shift in (1, -1, 2, -2):
        if rates.explains(1, shift):
            return Finding(
                "The learning rate of step t is legacy's of step t {:+d}: the schedule reads the step {} it is "
                "counted.".format(shift, "after" if shift > 0 else "before"),
                HIGH,
                f"all {len(rates.steps)} rates agree with legacy's of those steps to 1e-6",
            )
    return None


def _frozen(rates):
    return len(set(rates.right.tolist())) == 1 and len(set(rates.left.tolist())) > 1


def frozen(evidence):
    rates = evidence.learning_rates
    if rates.equal or not _frozen(rates):
        return None
    first = near(rates.right[0], rates.left[0], 1e-6)
    return Finding(
        "The learning rate stays {:.6g}{} while legacy's goes to {:.6g}.".format(
            rates.right[0], ", legacy's first," if first else "", rates.left[-1]
        ),
        HIGH if first else MEDIUM,
        f"{len(rates.steps)} steps were seen",
    )


def scaled(evidence):
    rates = evidence.learning_rates
    if rates.equal or not len(rates.steps) or _frozen(rates) or spread(rates.ratio) > 1e-5:
        return None
    ratio = float(np.median(rates.ratio))
    known = " (the number of replicas)" if near(ratio, evidence.replicas, 1e-5) else ""
    return Finding(
        f"The learning rate is {format_number(ratio)} x legacy's{known} in every step.",
        HIGH,
        f"the same ratio in {len(rates.steps)} steps, spread {spread(rates.ratio):.1e}",
    )


def other_schedule(evidence):
    rates = evidence.learning_rates
    if rates.equal or not len(rates.steps) or any(criterion(evidence) for criterion in (step_counter, frozen, scaled)):
        return None
    first = int(np.argmax(np.abs(rates.ratio - 1) > 1e-6))
    return Finding(
        f"The learning rate follows another schedule: {rates.right[first]:.6g} against legacy's {rates.left[first]:.6g} at step {rates.steps[first]}, where they first "
        "differ.",
        MEDIUM,
        "no factor, no shift by a step, and no step count times or over the replicas fits",
    )


@dataclasses.dataclass(frozen=True)
class _AtStep:
    """A schedule that reads another step."""

    inner: Any
    times: float = 1.0
    shift: int = 0

    def __call__(self, step, global_batch):
        import tensorflow as tf

        there = tf.cast(tf.floor(tf.cast(step, tf.float64) * self.times + 1e-9), step.dtype) + self.shift
        return self.inner(tf.maximum(there, tf.zeros_like(there)), global_batch)


@dataclasses.dataclass(frozen=True)
class ScaledSchedule:
    inner: Any
    factor: float

    def __call__(self, step, global_batch):
        return self.inner(step, global_batch) * self.factor


def _reading(make):
    return injection.in_workload(lambda job: {"learning_rate": make(job)})


_decaying = injection.with_fields(learning_rate=SCHEDULE)

CAUSES = (
    Cause(
        "STEP_COUNTER",
        stages.RATE,
        "the schedule counts other steps",
        "the rate of step t is legacy's of step N t or t/N (or t+1): knees N times early or late",
        "A counter that every replica increments (aggregation SUM) rises by N; epochs counted with the per-replica "
        "batch are N times too long; a counter read after the update is one ahead.",
        "Count one step per update (a variable with aggregation ONLY_FIRST_REPLICA) and epochs with the global batch.",
        step_counter,
        (
            Fault(
                "steps_counted_by_every_replica",
                _reading(lambda job: _AtStep(job.workload.learning_rate, job.replicas)),
                _decaying,
            ),
            Fault(
                "epochs_of_the_per_replica_batch",
                _reading(lambda job: _AtStep(job.workload.learning_rate, 1 / job.replicas)),
                _decaying,
            ),
            Fault(
                "step_read_after_the_update", _reading(lambda job: _AtStep(job.workload.learning_rate, 1, 1)), _decaying
            ),
        ),
        "R30",
    ),
    Cause(
        "LEARNING_RATE_FROZEN",
        stages.RATE,
        "the learning rate is frozen",
        "the rate stays at its first value; legacy's changes",
        "A 1.x schedule called in eager mode gives a value once; a Python number read while tracing is a constant.",
        "Compute the rate inside the step from the step variable, or hand the optimizer a schedule object.",
        frozen,
        (Fault("rate_frozen", _reading(lambda job: schedules.Fixed(SCHEDULE.rate)), _decaying),),
    ),
    Cause(
        "LEARNING_RATE_SCALED",
        stages.RATE,
        "the learning rate has a factor",
        "the rate is one number times legacy's in every step",
        "The linear scaling rule applied to a batch that already was the global one, or a rate meant for a sum.",
        "Take legacy's rate: its global batch is the same.",
        scaled,
        (
            Fault(
                "rate_times_replicas",
                _reading(lambda job: ScaledSchedule(job.workload.learning_rate, float(job.replicas))),
            ),
        ),
    ),
    Cause(
        "LEARNING_RATE_SCHEDULE",
        stages.RATE,
        "another schedule",
        "rates differ by no factor and no count of steps",
        "Another formula or other constants (staircase or not, decay rate, warm-up).",
        "Compare the schedules' constants.",
        other_schedule,
        (Fault("not_a_staircase", _reading(lambda job: dataclasses.replace(SCHEDULE, staircase=False)), _decaying),),
    ),
)
