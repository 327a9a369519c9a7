"""Causes in the learning rate: a wrong step count, a frozen value, a factor, another schedule."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from parity.causes.basics import injection
from parity.causes.basics.cause import HIGH, MEDIUM, Cause, Fault, Finding
from parity.causes.basics.wording import format_factor, shortest_decimal
from parity.causes.update.update_changes import in_schedule, recorded_rates
from parity.comparison import stages
from parity.comparison.fits import near, spread
from workloads import schedules
from workloads.support.wording import counted, plural

if TYPE_CHECKING:
    import tensorflow as tf

    from parity.comparison.setup import Setup
    from parity.diagnosis.evidence import Evidence
    from parity.diagnosis.facts.learning_rates import LearningRates

#: A schedule that changes within the steps of a diagnosis.
SCHEDULE = schedules.ExponentialDecay(0.01, 2, 0.5, staircase=True)


def step_counter(evidence: Evidence) -> Finding | None:
    """Recognizes STEP_COUNTER: the learning rate of step t is legacy's of step N t, t / N, t + 1 or nearby."""
    rates, replicas = evidence.learning_rates, evidence.replicas
    if rates.equal or replicas < 2 or _is_frozen(rates):
        return None
    sentence, times, shift = None, 1.0, None
    if rates.explains(replicas):
        sentence = (
            f"The learning rate of step t is legacy's of step {replicas} t: its knees come {replicas} x too early: the "
            "step counts every replica."
        )
        times = float(replicas)
    elif rates.explains(1 / replicas):
        times = 1 / replicas
        sentence = (
            f"The learning rate of step t is legacy's of step t / {replicas}: its knees come {replicas} x too late."
        )
    else:
        shift = next((shift for shift in (1, -1, 2, -2) if rates.explains(1, shift)), None)
        if shift is not None:
            when = "after" if shift > 0 else "before"
            sentence = (
                f"The learning rate of step t is legacy's of step t {shift:+d}: the schedule reads the step {when} it "
                "is counted."
            )
    if sentence is None:
        return None
    because = f"all {len(rates.steps)} rates agree with legacy's of those steps to 1e-6"
    unique = shift is None or np.count_nonzero(np.diff(rates.left)) > 1
    because += "" if unique else "; the rate changes once, so that a later or earlier boundary would look the same"
    constants = {"times": times, "shift": shift or 0}
    return Finding(sentence, HIGH if unique else MEDIUM, because, constants, ambiguous=not unique)


def learning_rate_frozen(evidence: Evidence) -> Finding | None:
    """Recognizes LEARNING_RATE_FROZEN: the port's learning rate is constant and legacy's is not."""
    rates = evidence.learning_rates
    if rates.equal or not _is_frozen(rates) or evidence.agreed_steps:
        return None
    at_first = near(rates.right[0], rates.left[0], 1e-6)
    stays = f"{rates.right[0]:.6g}" + (", legacy's first," if at_first else "")
    return Finding(
        f"The learning rate stays {stays} while legacy's goes to {rates.left[-1]:.6g}.",
        HIGH if at_first else MEDIUM,
        counted(len(rates.steps), "step was seen", "steps were seen"),
        {"rate": float(rates.right[0])},
        ambiguous=not at_first,
    )


def learning_rate_scaled(evidence: Evidence) -> Finding | None:
    """Recognizes LEARNING_RATE_SCALED: the ratio to legacy's learning rate is the same in every step.

    Where other steps had equal rates, a factor in the steps that are seen is another schedule.
    """
    rates = evidence.learning_rates
    if rates.equal or not len(rates.steps) or _is_frozen(rates) or spread(rates.ratio) > 1e-5 or evidence.agreed_steps:
        return None
    ratio = float(np.median(rates.ratio))
    known_as = " (the number of replicas)" if near(ratio, evidence.replicas, 1e-5) else ""
    first = evidence.left.step
    unique = not first or np.ptp(rates.left) > 0
    when = "in every step" if unique else f"in the steps from {first} on"
    because = f"the same ratio in {counted(len(rates.steps), 'step')}, spread {spread(rates.ratio):.1e}"
    because += "" if unique else "; legacy's rate is constant in them, so that another boundary before would look alike"
    return Finding(
        f"The learning rate is {format_factor(ratio)} x legacy's{known_as} {when}.",
        HIGH if unique else MEDIUM,
        because,
        {"factor": shortest_decimal(ratio)},
        ambiguous=not unique,
    )


def learning_rate_schedule(evidence: Evidence) -> Finding | None:
    """Recognizes LEARNING_RATE_SCHEDULE: the learning rates differ and no other cause of this file explains them.

    A shift by a step is explained by another boundary too, where the rate changes once in the steps that are seen.
    """
    rates, shifted = evidence.learning_rates, step_counter(evidence)
    if shifted is not None and shifted.ambiguous:
        return _other_boundary(rates)
    others = (step_counter, learning_rate_frozen, learning_rate_scaled)
    if rates.equal or not len(rates.steps) or any(criterion(evidence) for criterion in others):
        return None
    first = int(np.argmax(np.abs(rates.ratio - 1) > 1e-6))
    agreed = evidence.agreed_steps
    return Finding(
        f"The learning rate follows another schedule: {rates.right[first]:.6g} against legacy's "
        f"{rates.left[first]:.6g} at step {rates.steps[first]}, where they first differ"
        + (", and the same in " + plural(agreed, "the first step.", f"the first {agreed} steps.") if agreed else ".")
        + (" It is legacy's last rate at once, without a warm-up." if _lacks_warm_up(rates) else ""),
        MEDIUM,
        "no factor, no shift by a step, and no step count times or over the replicas fits",
        {"rates": tuple(zip(rates.steps, map(float, rates.right)))},
    )


def _other_boundary(rates: LearningRates) -> Finding:
    """Names the steps at which both sides' rates have come to what they stay."""
    ours, theirs = (rates.steps[int(np.argmax(side == side[-1]))] for side in (rates.right, rates.left))
    return Finding(
        f"The learning rate comes to {rates.right[-1]:.6g} at step {ours}, legacy's at step {theirs}: the schedule has "
        "another boundary, or another number of steps between its changes.",
        MEDIUM,
        "the rate changes once in the steps that are seen, so that a step counted otherwise would look the same; steps "
        "past a second change would tell them apart",
        {"rates": tuple(zip(rates.steps, map(float, rates.right)))},
        ambiguous=True,
    )


def _is_frozen(rates: LearningRates) -> bool:
    stays = len(set(rates.right.tolist())) == 1 and len(set(rates.left.tolist())) > 1
    return stays and not _lacks_warm_up(rates)


def _lacks_warm_up(rates: LearningRates) -> bool:
    """Whether legacy's learning rate rises to the one that the port has in every step."""
    stays = len(set(rates.right.tolist())) == 1
    return stays and bool(rates.left[0] < rates.left[-1]) and near(rates.right[0], rates.left[-1], 1e-6)


@dataclasses.dataclass(frozen=True)
class _OtherStep:
    """A schedule that is called with step `floor(step * times) + shift`, at least 0."""

    inner: Any
    times: float = 1.0
    shift: int = 0

    def __call__(self, step: tf.Tensor, global_batch: int) -> tf.Tensor:
        import tensorflow as tf

        there = tf.cast(tf.floor(tf.cast(step, tf.float64) * self.times + 1e-9), step.dtype) + self.shift
        return self.inner(tf.maximum(there, tf.zeros_like(there)), global_batch)


@dataclasses.dataclass(frozen=True)
class ScaledSchedule:
    """A schedule times `factor`."""

    inner: Any
    factor: float

    def __call__(self, step: tf.Tensor, global_batch: int) -> tf.Tensor:
        return self.inner(step, global_batch) * self.factor


def _inject_other_step(finding: Finding, setup: Setup) -> injection.Change:
    times, shift = finding.constants["times"], finding.constants["shift"]
    return in_schedule(lambda job: _OtherStep(job.workload.learning_rate, times, shift))


def _inject_frozen(finding: Finding, setup: Setup) -> injection.Change:
    return in_schedule(lambda job: schedules.Fixed(finding.constants["rate"]))


def _inject_scaled(finding: Finding, setup: Setup) -> injection.Change:
    return in_schedule(lambda job: ScaledSchedule(job.workload.learning_rate, finding.constants["factor"]))


def _inject_recorded(finding: Finding, setup: Setup) -> injection.Change:
    return recorded_rates(dict(finding.constants["rates"]))


_decaying = injection.with_fields(learning_rate=SCHEDULE)

CAUSES = (
    Cause(
        id="STEP_COUNTER",
        stage=stages.RATE,
        title="the schedule counts other steps",
        signature="The learning rate of step t is legacy's of step N t or t / N (or t + 1): the schedule changes N "
        "times too early or too late",
        why="A counter that every replica increments (aggregation SUM) rises by N a step; epochs counted with the "
        "per-replica batch are N times too long; a counter that is read after the update is one ahead.",
        fix="Count one step per update (a variable with aggregation ONLY_FIRST_REPLICA), and epochs with the global "
        "batch.",
        criterion=step_counter,
        change=_inject_other_step,
        faults=(
            Fault(
                "steps_counted_by_every_replica",
                in_schedule(lambda job: _OtherStep(job.workload.learning_rate, job.replicas)),
                _decaying,
            ),
            Fault(
                "epochs_of_the_per_replica_batch",
                in_schedule(lambda job: _OtherStep(job.workload.learning_rate, 1 / job.replicas)),
                _decaying,
            ),
            Fault(
                "step_read_after_the_update",
                in_schedule(lambda job: _OtherStep(job.workload.learning_rate, 1, 1)),
                _decaying,
            ),
        ),
        pitfall="R30",
    ),
    Cause(
        id="LEARNING_RATE_FROZEN",
        stage=stages.RATE,
        title="the learning rate is frozen",
        signature="The learning rate stays at its first value, while legacy's changes",
        why="A 1.x schedule that is called in eager mode returns a value once; a Python number that is read while a "
        "function is traced is a constant in it.",
        fix="Compute the learning rate from the step variable inside the step, or give the optimizer a schedule.",
        criterion=learning_rate_frozen,
        change=_inject_frozen,
        faults=(Fault("rate_frozen", in_schedule(lambda job: schedules.Fixed(SCHEDULE.rate)), _decaying),),
    ),
    Cause(
        id="LEARNING_RATE_SCALED",
        stage=stages.RATE,
        title="the learning rate has a factor",
        signature="The learning rate is one number times legacy's in every step",
        why="The linear scaling rule was applied although the batch already was the global one, or the rate was meant "
        "for a sum of gradients.",
        fix="Take legacy's learning rate: its global batch is the same.",
        criterion=learning_rate_scaled,
        change=_inject_scaled,
        faults=(
            Fault(
                "rate_times_replicas",
                in_schedule(lambda job: ScaledSchedule(job.workload.learning_rate, float(job.replicas))),
            ),
        ),
    ),
    Cause(
        id="LEARNING_RATE_SCHEDULE",
        stage=stages.RATE,
        title="another schedule",
        signature="Learning rates differ, and neither a factor nor another count of steps explains it",
        why="Another formula or other constants (staircase or not, decay rate, warm-up).",
        fix="Compare the schedules' constants.",
        criterion=learning_rate_schedule,
        change=_inject_recorded,
        faults=(
            Fault(
                "not_a_staircase", in_schedule(lambda job: dataclasses.replace(SCHEDULE, staircase=False)), _decaying
            ),
        ),
    ),
)
