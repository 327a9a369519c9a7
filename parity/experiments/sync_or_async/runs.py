"""The question of `stacked_lstm`: do replicas that each push their step overshoot, or is the noise harmless, or useful?

Every run sees the same examples in the same order. Synchronous runs make one update of a global batch, by the mean of
the replicas' gradients; asynchronous ones make one update of each replica's gradient, `staleness` updates late (see
`workloads.numerics.staleness`), so N updates of the same examples.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from parity.experiments.images import LabelledImages
from workloads import schedules, sources

if TYPE_CHECKING:
    from workloads.job import Job
    from workloads.program import Arrays
    from workloads.workload import Workload

#: The staleness of synchronous training.
SYNC = None
STALENESS = (SYNC, 0, 1, 2, 4, 8)

#: Geometric, so that most have four times their value among the others: four replicas' updates go about as far as one
#: update at four times the learning rate.
LEARNING_RATES = {"cifar_cnn": (0.0125, 0.025, 0.05, 0.1, 0.2), "regression": (6.25e-5, 2.5e-4, 1e-3, 4e-3, 1.6e-2)}


@dataclasses.dataclass(frozen=True)
class StudyRun:
    """One run of the study.

    Attributes:
      workload: its name.
      learning_rate: fixed.
      staleness: number of updates by which a gradient is late, or `SYNC`.
      seed: of the job.
      replicas: number of replicas.
      steps: number of global batches.
    """

    workload: str
    learning_rate: float
    staleness: int | None
    seed: int
    replicas: int
    steps: int


@dataclasses.dataclass(frozen=True)
class RunLosses:
    """The losses of a run.

    Attributes:
      case: the run.
      first: mean loss over the replicas at the first step.
      final: mean loss of the last tenth of the steps.
    """

    case: StudyRun
    first: float
    final: float

    @property
    def diverged(self) -> bool:
        """Whether the run ended at a loss that is not finite, or no better than at its first step."""
        return not np.isfinite(self.final) or self.final >= self.first

    def to_json(self) -> dict[str, Any]:
        """Returns the run for `--json`."""
        case = self.case
        return {
            "workload": case.workload,
            "rate": case.learning_rate,
            "staleness": case.staleness,
            "seed": case.seed,
            "replicas": case.replicas,
            "steps": case.steps,
            "first": self.first,
            "final": self.final,
            "diverged": self.diverged,
        }


def plan_cases(workload_names: Sequence[str], replicas: int, steps: int, seeds: int) -> list[list[StudyRun]]:
    """Returns the cases of every workload, learning rate and staleness.

    Args:
      workload_names: names in `LEARNING_RATES`.
      replicas: number of replicas of every run.
      steps: number of global batches of every run.
      seeds: number of runs of each setting, with seeds from 0 on.

    Returns:
      a list for each setting, with one case per seed.
    """
    return [
        [StudyRun(name, learning_rate, staleness, seed, replicas, steps) for seed in range(seeds)]
        for name in workload_names
        for learning_rate in LEARNING_RATES[name]
        for staleness in STALENESS
    ]


def run_cases(cases: Sequence[StudyRun], images: LabelledImages | None = None) -> list[RunLosses]:
    """Trains cases that differ in the seed only, on the legacy side, where one graph serves all of them.

    The modern side has the same bits (`parity.verify --staleness`), but a function is traced anew for each input.

    Args:
      cases: one or more.
      images: for a workload that takes images.

    Returns:
      the outcome of each case.
    """
    from legacy import factory
    from legacy.options import LegacyOptions
    from workloads.job import Job
    from workloads.program import initial_state
    from workloads.variable_spec import initial_values

    case = cases[0]
    workload, make_source = workload_of_case(case, images)
    jobs = [Job(workload, each.replicas, seed=each.seed, staleness=each.staleness) for each in cases]
    source = ExchangeableSource(jobs[0], make_source(jobs[0]))
    devices = [f"CPU:{index}" for index in range(case.replicas)]
    outcomes, last = [], max(1, case.steps // 10)
    with factory.legacy_program(jobs[0], source, LegacyOptions(), devices) as program:
        for each, job in zip(cases, jobs):
            source.current = make_source(job)
            specs = program.variables()
            program.load(initial_state(job, specs, initial_values(specs, job.seed)))
            first = float(np.mean(program.run(1)))
            program.run(case.steps - 1 - last)
            final = float(np.mean([program.run(1) for _ in range(last)]))
            outcomes.append(RunLosses(each, first, final))
    return outcomes


def workload_of_case(case: StudyRun, images: LabelledImages | None) -> tuple[Workload, Callable[[Job], sources.Source]]:
    """Returns a case's workload with its fixed learning rate, and the function that makes its batches.

    A workload of images gets as many channels as the images have, and does not distort them.
    """
    from workloads.data import image_source
    from workloads.models.images import ImageWorkload
    from workloads.selection import registry

    schedule = schedules.Fixed(case.learning_rate)
    workload = dataclasses.replace(registry.get(case.workload, "small"), learning_rate=schedule)
    if not isinstance(workload, ImageWorkload):
        return workload, sources.Synthetic
    assert images is not None, "a workload of images needs images"
    workload = dataclasses.replace(workload, channels=images.images.shape[-1], distort=False)
    make_source = functools.partial(image_source.ImageSource, images=images.images, labels=images.labels)
    return workload, make_source


class ExchangeableSource(sources.Source):
    """A source that can be exchanged between runs of one program.

    Attributes:
      current: the source whose batches the program gets.
    """

    fixed = False

    def __init__(self, job: Job, source: sources.Source) -> None:
        super().__init__(job)
        self.current = source

    def shards(self, step: int) -> list[Arrays]:
        return self.current.shards(step)
