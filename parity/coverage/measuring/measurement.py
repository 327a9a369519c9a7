"""`Measurement`: accompanies a comparison and measures which mutants of its job it would have detected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from parity.comparison import stages
from parity.comparison.tour import Tour, Visit
from parity.coverage.graph.mutants import MutatedTowers
from parity.coverage.measuring.detector import Detector, detector_in_float64
from parity.coverage.mutant import Choice, Exposure, Mutant, MutantOutcome
from parity.coverage.mutants.update_mutants import GradientLog
from parity.coverage.observed_step import ObservedStep
from parity.coverage.visits.job_visits import ChooseVisits, CoverageState
from workloads.job import Job
from workloads.program import State, StepRecord

#: Expensive mutants are tried in the first `FIRST_STEPS` compared steps, in every `ROUND`-th one, and in every visit.
FIRST_STEPS, ROUND = 3, 10

#: Tells whether an effect is more than rounding in float64.
detects_beyond_rounding = detector_in_float64({})

#: {choice: what its mutants change, or are computed from}; a recording need not hold all of it.
NEEDED = {
    Choice.COMBINE: (stages.GRADIENTS, stages.COMBINED),
    Choice.CLIP: (stages.GRADIENTS, stages.COMBINED),
    Choice.STALENESS: (stages.COMBINED,),
    Choice.OPTIMIZER: (stages.COMBINED, stages.SLOTS, stages.RATE),
}


class Measurement(Tour):
    """Tries the mutants of a job on compared steps, and keeps which of them the comparison would have detected.

    Args:
      job: the job.
      mutants: of the job.
      choose_visits: see `ChooseVisits`.
      gradients: to be filled with the gradients of each compared step.
      detector: tells whether the comparison would have failed.
      dtype: dtype in which differences are judged.
      no_visits: the reason why no other state can be visited, or "".
      towers: that try the mutants of constants; None without any.
      note: called with a text before each mutant is tried, since each may take as long as a step.

    Attributes:
      outcomes: what became of each mutant.
      no_visits, towers: see above.
      last: the state that visits start from; None before the first.
    """

    def __init__(
        self,
        job: Job,
        mutants: Iterable[Mutant],
        choose_visits: ChooseVisits,
        gradients: GradientLog,
        detector: Detector,
        dtype: str,
        no_visits: str = "",
        towers: MutatedTowers | None = None,
        note: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._job, self._choose_visits, self._gradients = job, choose_visits, gradients
        self._detector, self._dtype, self._note_progress = detector, dtype, note
        self.no_visits, self.towers = no_visits, towers
        self.last: State | None = None
        self._steps: set[int] = set()
        self._finite_steps = 0
        self._last_is_finite = True
        self._finite_state: State | None = None  # before the run's last step without NaN and infinity
        self._rates_seen = False
        self.outcomes = [MutantOutcome(mutant) for mutant in mutants]

    def observe(self, before: State, record: StepRecord, visit: Visit | None) -> None:
        step = ObservedStep(self._job, before, record, self._dtype, visit)
        self._steps.add(record.step)
        self._last_is_finite = step.is_finite
        if step.is_finite:
            self._note(step)
        if visit is None and step.is_finite:
            self._finite_state = before
        if step.is_finite or step.ends_finite and self._dtype == self._job.dtype:  # float64 would not overflow
            self._try_all(step)

    def visits(self, last: State) -> Iterator[Visit]:
        if self.no_visits or not self._finite_steps:
            return
        is_finite = lambda: self._last_is_finite  # noqa: E731
        if not self._last_is_finite and self._finite_state is not None:  # from NaN, every step is NaN
            last = self._finite_state
        self.last = last
        coverage = CoverageState(
            self._any_missing,
            self._needs,
            self._steps.__contains__,
            is_finite,
            self._first_steps,
            self._still_weights,
        )
        yield from self._choose_visits(last, coverage)

    def misses_constants(self) -> bool:
        """Returns whether a mutant of a constant that can matter has not been seen."""
        return any(outcome.mutant.choice is Choice.CONSTANT and outcome.is_missing for outcome in self.outcomes)

    def would_see_more(self, before: State, record: StepRecord, visit: Visit) -> bool:
        """Tries the mutants of constants that have not been seen on a step, which is not counted.

        Args:
          before: the state that the step starts from.
          record: of the step.
          visit: the visit that it is.

        Returns:
          whether the step shows one.
        """
        step = ObservedStep(self._job, before, record, self._dtype, visit)
        missing = [outcome.mutant for outcome in self.outcomes if outcome.is_missing and not outcome.unrecorded]
        constants = [mutant for mutant in missing if mutant.choice is Choice.CONSTANT]
        return step.is_finite and any(self._detector(effect) for mutant in constants for effect in mutant.effects(step))

    def reasons(self) -> list[str]:
        """Returns the reasons why parity is not shown though everything that was compared agrees."""
        moved = [outcome.seen for outcome in self.outcomes if outcome.mutant.choice is Choice.UPDATE]
        if not self._finite_steps:
            return ["the losses, gradients or weights are NaN or infinite in every compared step"]
        if not any(moved):
            return [self._why_nothing_moves()]
        return [f"{outcome.mutant.name} ({outcome.why})" for outcome in self.outcomes if outcome.is_missing]

    def _why_nothing_moves(self) -> str:
        if not self._rates_seen:
            return "no weight moves: the learning rate is zero in every compared step"
        if not self._gradients.any:
            return (
                "no weight moves: the gradients are zero in every compared step, as of a loss that ignores the weights"
            )
        return "no weight moves in any compared step"

    def _note(self, step: ObservedStep) -> None:
        self._finite_steps += 1
        for outcome in self.outcomes:
            needed = NEEDED.get(outcome.mutant.choice, ())
            outcome.unrecorded = next((stage for stage in needed if stage in step.unrecorded), "")
        self._rates_seen = self._rates_seen or bool(np.any(step.record.learning_rate))
        self._gradients.add(step)

    def _try_all(self, step: ObservedStep) -> None:
        number = step.record.step - min(self._steps)  # an old graph's checkpoint may be of any step
        chosen = step.visit is not None or number < FIRST_STEPS or number % ROUND == 0
        tried = [outcome for outcome in self.outcomes if not outcome.seen and not outcome.unrecorded]
        tried = [outcome for outcome in tried if chosen or outcome.mutant.every_step]
        if step.visit is not None:  # no state shows what cannot matter
            tried = [outcome for outcome in tried if not outcome.harmless]
        for number, outcome in enumerate(tried, 1):
            self._note_progress(f"{step.place}, mutant {number} of {len(tried)}")
            self._try(outcome, step)

    def _try(self, outcome: MutantOutcome, step: ObservedStep) -> None:
        for effect in outcome.mutant.effects(step):
            if self._detector(effect):
                outcome.seen, outcome.place, outcome.stage = True, step.place, effect.stage
                return
            outcome.within = outcome.within or detects_beyond_rounding(effect)

    def _any_missing(self) -> bool:
        return any(outcome.is_missing for outcome in self.outcomes)

    def _first_steps(self) -> list[int]:
        return sorted({o.mutant.first for o in self.outcomes if o.mutant.first is not None and o.is_missing})

    def _still_weights(self) -> list[str]:
        return [outcome.mutant.still for outcome in self.outcomes if outcome.mutant.still and outcome.is_missing]

    def _needs(self, exposure: Exposure) -> bool:
        return any(outcome.mutant.exposure is exposure and outcome.is_missing for outcome in self.outcomes)
