"""Mutants of the learning-rate schedule: each constant, the step and the batch that it counts, each boundary."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from parity.comparison import stages
from parity.coverage import schedules
from parity.coverage.changed_constants import changed_constants
from parity.coverage.mutant import Choice, Effect, Mutant
from parity.coverage.observed_step import ObservedStep
from parity.coverage.schedules import RateFunction
from workloads.job import Job

#: A function from a step's number to a learning rate.
Rate = Callable[[int], np.ndarray]


def schedule_mutants(job: Job, rate: RateFunction, boundaries: list[int]) -> Iterator[Mutant]:
    """Makes the mutants of a job's schedule.

    Args:
      job: the job.
      rate: its learning rates.
      boundaries: the first steps after a jump.

    Yields:
      a mutant for each constant, and two for each boundary: one step late, one step early.
    """
    schedule, size = job.workload.learning_rate, job.global_batch
    extra = [step + shift for step in boundaries for shift in (-1, 0, 1)]
    steps = schedules.sampled_steps(extra + sorted(schedules.whole_numbers(schedule)))
    for field, change, changed in changed_constants(schedule):
        try:
            other = RateFunction(changed, size)
            yield _mutant(f"schedule.{field}", change, rate, other, steps)
        except (TypeError, ValueError):  # TensorFlow refuses a schedule whose boundaries are not in order
            continue
    yield from _counting_mutants(job, rate, steps)
    for boundary in boundaries:
        name = f"schedule.boundary at step {boundary:,}"
        yield _mutant(name, "one step late", rate, _moved(rate, boundary, boundary - 1), [boundary])
        yield _mutant(name, "one step early", rate, _moved(rate, boundary - 1, boundary), [boundary - 1])


def _counting_mutants(job: Job, rate: RateFunction, steps: list[int]) -> Iterator[Mutant]:
    """Mutants of the unit in which the schedule counts, such as steps or examples; none if it counts nothing."""
    late = _mutant("schedule.step", "counted from one", rate, lambda step: rate(step + 1), steps)
    if not late.harmless():
        yield late
    if job.replicas > 1:
        one_tower = RateFunction(job.workload.learning_rate, job.per_replica_batch)
        change = f"{job.global_batch} -> {job.per_replica_batch}"
        counted = _mutant("schedule.global_batch", change, rate, one_tower, steps)
        if not counted.harmless():
            yield counted


def _moved(rate: Rate, step: int, source: int) -> Rate:
    """The schedule in which `step` has the learning rate of step `source`."""
    return lambda asked: rate(source if asked == step else asked)


def _mutant(name: str, change: str, rate: RateFunction, mutated: Rate, steps: list[int]) -> Mutant:
    if isinstance(mutated, RateFunction):
        first = rate.first_difference(mutated, steps)
    else:
        first = next((step for step in steps if rate(step) != mutated(step)), None)

    def effects(step: ObservedStep) -> Iterator[Effect]:
        number = step.record.step
        yield Effect(stages.RATE, "learning rate", rate(number), mutated(number))

    return Mutant(
        Choice.SCHEDULE,
        name,
        change,
        effects,
        hidden=lambda: f"first at step {first:,}: a comparison must take that step",
        harmless=lambda: "" if first is not None else "gives the same learning rate at every step",
        every_step=True,
        first=first,
    )
