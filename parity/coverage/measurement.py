"""`Measurement`: accompanies a comparison and measures which mutants of its job it would have seen."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from parity.comparison.tour import Tour, Visit
from parity.coverage import gradient_mutants, schedules, state_mutants, update_mutants
from parity.coverage.mutant import Mutant, Outcome
from parity.coverage.observed_step import ObservedStep
from parity.coverage.schedule_mutants import schedule_mutants
from parity.coverage.sight import Sight
from parity.coverage.visits import View, visits_of_job
from workloads import scope
from workloads.job import Job
from workloads.program import State, StepRecord
from workloads.scope import VariableSpec
from workloads.sources import Source

#: Mutants that cost time are tried in so many first steps, in those of round numbers, and in every visit.
FIRST_STEPS, ROUND = 3, 10


class Measurement(Tour):
    """The mutants of a job and what became of them.

    Args:
      job: the job.
      source: of its batches.
      specs: its variables.
      sight: tells whether the comparison would have failed.
      dtype: dtype in which differences are judged.
      no_visits: the reason why no other state can be visited, or "".

    Attributes:
      outcomes: what became of each mutant.
      visited: names of the visits that were compared.
      no_visits: see above.
    """

    def __init__(
        self, job: Job, source: Source, specs: Sequence[VariableSpec], sight: Sight, dtype: str, no_visits: str = ""
    ) -> None:
        self._job, self._source, self._specs, self._sight, self._dtype = job, source, list(specs), sight, dtype
        self.no_visits = no_visits
        self.visited: list[str] = []
        self._steps: set[int] = set()
        self._finite_steps = 0
        self._last_is_finite = True
        self._gradients_seen = self._rates_seen = False
        self._rate = schedules.RateFunction(job.workload.learning_rate, job.global_batch)
        self._boundaries = schedules.find_boundaries(self._rate, job.workload.learning_rate)
        self.outcomes = [Outcome(mutant) for mutant in self._mutants()]

    def observe(self, before: State, record: StepRecord, visit: Visit | None) -> None:
        place = f"step {record.step:,}" if visit is None else visit.name
        step = ObservedStep(self._job, before, record, place, self._dtype, visit is not None)
        self._steps.add(record.step)
        if visit is not None:
            self.visited.append(visit.name)
        self._last_is_finite = step.is_finite
        if step.is_finite:
            self._note(step)
            self._try_all(step)

    def visits(self, last: State) -> Iterator[Visit]:
        if self.no_visits or not self._finite_steps:
            return
        view = View(self._is_missing, self._steps.__contains__, lambda: self._last_is_finite)
        yield from visits_of_job(self._job, self._specs, last, self._boundaries, self._source, view)

    def reasons(self) -> list[str]:
        """Returns the reasons why parity is not shown though everything that was compared agrees."""
        moved = [outcome.seen for outcome in self.outcomes if outcome.mutant.choice == "update"]
        if not self._finite_steps:
            return ["the losses, gradients or weights are NaN or infinite in every compared step"]
        if not any(moved):
            return [self._why_nothing_moves()]
        return [f"{outcome.mutant.name} ({outcome.why})" for outcome in self.outcomes if outcome.is_missing]

    def _why_nothing_moves(self) -> str:
        if not self._rates_seen:
            return "no weight moves: the learning rate is zero in every compared step"
        if not self._gradients_seen:
            return (
                "no weight moves: the gradients are zero in every compared step, as of a loss that ignores the weights"
            )
        return "no weight moves in any compared step"

    def _note(self, step: ObservedStep) -> None:
        self._finite_steps += 1
        self._rates_seen = self._rates_seen or bool(np.any(step.record.learning_rate))
        self._gradients_seen = self._gradients_seen or any(bool(np.any(g)) for g in step.record.combined.values())

    def _try_all(self, step: ObservedStep) -> None:
        number = step.record.step
        chosen = step.is_visit or number < FIRST_STEPS or number % ROUND == 0
        for outcome in self.outcomes:
            if not outcome.seen and (chosen or outcome.mutant.every_step):
                effect = next((e for e in outcome.mutant.effects(step) if self._sight(e)), None)
                if effect is not None:
                    outcome.seen, outcome.place, outcome.stage = True, step.place, effect.stage

    def _is_missing(self, name: str) -> bool:
        return any(not o.seen and o.mutant.name.startswith(name) and o.is_missing for o in self.outcomes)

    def _mutants(self) -> Iterator[Mutant]:
        job = self._job
        trainable = [spec.name for spec in self._specs if spec.trainable]
        statistics = [spec.name for spec in self._specs if not spec.trainable]
        yield from input_mutants(job, self._source)
        yield from gradient_mutants.decay_mutants(
            scope.trace_decay_rates(job.workload, job.per_replica_batch, job.dtype)
        )
        yield from gradient_mutants.combine_mutants(job)
        yield from schedule_mutants(job, self._rate, self._boundaries)
        yield from update_mutants.optimizer_mutants(job)
        yield from update_mutants.left_out_mutants(trainable, self._why_still)
        yield from state_mutants.statistic_mutants(job, statistics)
        yield from state_mutants.average_mutants(job)

    def _why_still(self, name: str) -> str:
        return "the loss does not depend on the weight" if name in self._unused else ""

    @functools.cached_property
    def _unused(self) -> tuple[str, ...]:
        job = self._job
        return scope.trace_unused(job.workload, job.per_replica_batch, job.dtype)


def input_mutants(job: Job, source: Source) -> Iterable[Mutant]:
    """Returns the mutants of a source's batches; none where the graph makes up its data itself."""
    shards: Callable[[int], Sequence[dict[str, np.ndarray]]] = source.shards
    return state_mutants.input_mutants(job, shards) if shards(0)[0] else []
