"""Validation of predictions on this CPU: errors of single steps, and the order of alternatives."""

from __future__ import annotations

import dataclasses
import itertools
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from legacy.options import LegacyOptions
from modern.options import ModernOptions
from parity.comparison.setup import Setup
from parity.prediction.this_machine.measured_step import Alternative, MeasuredStep, measure_alternatives
from workloads import sources
from workloads.job import Job
from workloads.selection import registry
from workloads.support.processes.child_processes import Child
from workloads.support.processes.child_side import Speaker
from workloads.support.wording import counted

#: Measured differences from here on count for the order.
LEAST_DIFFERENCE = 0.10

#: {name: options of the towers}: where variables are, how batches come in, how gradients are averaged.
TOWERS = {
    "legacy": LegacyOptions(input="resident"),
    "legacy, fed": LegacyOptions(input="feed"),
    "legacy, split": LegacyOptions(input="split"),
    "legacy, add_n": LegacyOptions(input="resident", average="add_n"),
    "legacy, pinned": LegacyOptions(input="resident", pin_towers_to_cpu=True),
}

#: Options of the port, with the steps per call that its commands take.
_PORT = ModernOptions(all_reduce="tower_order", variables="auto", steps_per_call=100)

#: {name: options of the port}: where variables are, how gradients are reduced, how many steps a call takes.
PORTS = {
    "modern": _PORT,
    "modern, mirrored variables": dataclasses.replace(_PORT, variables="mirrored"),
    "modern, strategy's all-reduce": dataclasses.replace(_PORT, all_reduce="auto"),
    "modern, one device": dataclasses.replace(_PORT, all_reduce="one_device"),
    "modern, one step a call": dataclasses.replace(_PORT, steps_per_call=1),
}

#: Alternatives that one replica has too.
_OF_ONE_REPLICA = ("legacy", "legacy, fed", "modern", "modern, one step a call")


class ValidatedJob(NamedTuple):
    """The alternatives of one job.

    Attributes:
      workload: its name.
      replicas: number of logical devices.
      steps: a row for each alternative.
    """

    workload: str
    replicas: int
    steps: list[MeasuredStep]


class Order(NamedTuple):
    """Count of the pairs of alternatives that the prediction puts in the right order.

    Attributes:
      right: pairs in the predicted order.
      pairs: pairs with a measured difference above `LEAST_DIFFERENCE`.
    """

    right: int
    pairs: int


@dataclasses.dataclass(frozen=True)
class ValidationPlan:
    """Extent of a validation.

    Attributes:
      workloads: their names.
      replicas: numbers of logical devices.
      size: "small" or "seed".
      seconds: length of a timed block, about.
      rounds: rounds in which the alternatives of a job are timed; even.
    """

    workloads: Sequence[str] = registry.NAMES
    replicas: Sequence[int] = (1, 2, 4)
    size: str = "small"
    seconds: float = 0.2
    rounds: int = 12


def validate(plan: ValidationPlan, progress: Callable[[str, int, int], None]) -> list[ValidatedJob]:
    """Predicts and measures all alternatives of all jobs; each replica has the same batch at any number of them.

    Args:
      plan: the extent.
      progress: called with (text, number done, number in all).

    Returns:
      a row for each job.
    """
    found = []
    jobs = list(itertools.product(plan.workloads, plan.replicas))
    for number, (name, replicas) in enumerate(jobs):
        replicas_text = counted(replicas, "replica")
        progress(f"{name}, {replicas_text}", number, len(jobs))
        job = Child(f"{name} at {replicas_text}", validate_job, (name, replicas, plan))
        try:
            found.append(job.receive())
        finally:
            job.kill()
    return found


def validate_job(speaker: Speaker, name: str, replicas: int, plan: ValidationPlan) -> None:
    """Runs in a process of its own, with the threads of this number of replicas; prints the `ValidatedJob`.

    Args:
      speaker: to the process that asks.
      name: of the workload.
      replicas: number of logical devices.
      plan: the extent.
    """
    setup = setup_of(name, replicas, plan.size, TOWERS["legacy"], PORTS["modern"])
    alternatives = alternatives_of(name, replicas, plan.size)
    speaker.say(ValidatedJob(name, replicas, measure_alternatives(alternatives, setup, plan.seconds, plan.rounds)))


def alternatives_of(name: str, replicas: int, size: str) -> dict[str, Alternative]:
    """Returns {alternative: how it is run} of a job; one replica has no placements and no reductions.

    Args:
      name: of the workload.
      replicas: number of logical devices.
      size: "small" or "seed".

    Returns:
      the alternatives.
    """
    towers = {key: options for key, options in TOWERS.items() if replicas > 1 or key in _OF_ONE_REPLICA}
    ports = {key: options for key, options in PORTS.items() if replicas > 1 or key in _OF_ONE_REPLICA}
    made = {
        key: Alternative("legacy", setup_of(name, replicas, size, options, PORTS["modern"]))
        for key, options in towers.items()
    }
    for key, options in ports.items():
        made[key] = Alternative("modern", setup_of(name, replicas, size, TOWERS["legacy"], options))
    return made


def setup_of(name: str, replicas: int, size: str, legacy: LegacyOptions, modern: ModernOptions) -> Setup:
    """Returns the setup of a workload with the per-replica batch that it has on two replicas.

    Args:
      name: of the workload.
      replicas: number of logical devices.
      size: "small" or "seed".
      legacy: options of the towers.
      modern: options of the port.

    Returns:
      the setup, on one batch that is used at every step.
    """
    workload = registry.get(name, size)
    batch = Job(workload, 2).per_replica_batch * replicas
    return Setup(Job(workload, replicas, batch), sources.Resident, legacy, modern, "cpu")


def median_error(jobs: Iterable[ValidatedJob], names: Sequence[str] = ("legacy", "modern")) -> float:
    """Returns the median of the absolute relative errors of some alternatives, over all jobs."""
    return statistics.median(abs(step.error) for job in jobs for step in job.steps if step.name in names)


def predicted_order(jobs: Iterable[ValidatedJob]) -> Order:
    """Counts the pairs of alternatives of the same job that the prediction puts in the right order."""
    right = pairs = 0
    for job in jobs:
        for one, other in itertools.combinations(job.steps, 2):
            if max(one.measured, other.measured) > (1 + LEAST_DIFFERENCE) * min(one.measured, other.measured):
                pairs += 1
                right += (one.predicted < other.predicted) == (one.measured < other.measured)
    return Order(right, pairs)


def validation_json(jobs: Sequence[ValidatedJob]) -> dict[str, Any]:
    """Returns a validation for `--json`; times in seconds."""
    return {
        "median_error": median_error(jobs),
        "median_error_of_all_alternatives": median_error(jobs, (*TOWERS, *PORTS)),
        "order": predicted_order(jobs)._asdict(),
        "jobs": [
            {"workload": job.workload, "replicas": job.replicas, "steps": [step.to_json() for step in job.steps]}
            for job in jobs
        ],
    }
