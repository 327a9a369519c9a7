"""Verification: steps two programs side by side and compares every tensor of their step records.

Identical bits are compared along two free trajectories. Where rounding may differ, trajectories part sooner or later
whatever the port does, since training amplifies rounding. So "auto" judges each step by itself: a second copy of the
port, the lockstep replica, takes every step from legacy's own state. If those steps agree, the port is the same
program, and the step at which the free trajectories part is only reported. Rounding must not hide a fault either, so
both sides take the step in float64 too, where equal mathematics agrees to ten more digits (see `references`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from parity.comparison.history import History
from parity.comparison.judging.judge import Judge
from parity.comparison.references import References
from parity.comparison.result import Failure, Verification
from parity.comparison.runs.training_check import TrainingCheck
from parity.comparison.runs.variable_match import match_variables
from parity.comparison.tour import Tour, Visit
from workloads.job import Job
from workloads.program import Program, State, StepRecord


class StepCheck(Protocol):
    """Judges steps that both sides took from the same state, from what each side recorded."""

    def add(self, left: StepRecord, right: StepRecord, before: State) -> None:
        """Checks one step.

        Args:
          left, right: the sides' records.
          before: the state that both took it from.
        """

    def failures(self) -> list[Failure]:
        """Returns what is wrong, in order."""


def verify(
    left: Program,
    right: Program,
    job: Job,
    steps: int,
    mode: str = "free",
    tolerance_name: str = "exact",
    lockstep: Program | None = None,
    references: References | None = None,
    progress: Callable[[int, Verification], None] | None = None,
    units: dict[str, float] | None = None,
    alternatives: Sequence[Program] = (),
    tour: Tour | None = None,
    rules: StepCheck | None = None,
    history: History | None = None,
    stop: Callable[[], bool] = lambda: False,
    at_end: Callable[[State, State], None] | None = None,
) -> Verification:
    """Steps two programs side by side and compares every tensor of their records.

    Args:
      left: program of `job`; usually legacy, or a recording of it.
      right: program of `job`; usually the port.
      job: the job of both.
      steps: number of steps.
      mode: "free" lets both run their own trajectory; "locked" starts each of the right one's steps from the left one's
        state, so that a difference in a step was made in that step.
      tolerance_name: "exact" or "auto"; see `tolerance`.
      lockstep: in free mode, a second program like the right one that is judged step by step; or None.
      references: programs that take each step from the left one's state: both in float64, where the mathematics is
        judged, and the left one again; or None.
      progress: called with (steps done, `Verification` so far) after each step; or None.
      units: {stage: ulps} allowed under "auto" beyond the base, for a reason the caller has.
      alternatives: in locked mode, programs that take the right one's steps in other orders of reads and updates, where
        the old program has races: a variable that one of them explains is no difference.
      tour: looks at every step, and names the states that both sides take one more step from after the others; or None.
      rules: judges each step that both sides took from the same state by what each side recorded; or None.
      history: keeps the run's losses and what each tensor differs by; or None.
      stop: called after each step; true ends the comparison with the steps so far, which is then partial.
      at_end: called after the last step, before any visit, with the left side's state and the right side's; the left
        side's twice where each step starts from its state. Or None.

    Returns:
      The `Verification`. A step beyond tolerance does not end the run: later stages show how the difference spreads.

    Raises:
      InputError: the programs' records hold different tensors.
    """
    result = Verification(tolerance_name, mode)
    if not match_variables(result, left, right):
        return result
    judge = Judge(result, job, references, units or {}, history=history)
    comparison = _Comparison(result, judge, left, right, lockstep, references, alternatives, tour, rules)
    training = TrainingCheck()
    state = left.state()
    judge.compare_initial(state, right.state())
    for step in range(steps):
        record = comparison.take_step(state)
        training.add(record, state)
        state = record.state
        result.steps, result.loss = step + 1, _mean(record.losses)
        if progress is not None:
            progress(step + 1, result)
        result.partial = step + 1 < steps and stop()
        if result.partial:
            result.not_shown.append(f"interrupted after {step + 1} of {steps} steps")
            break
    if at_end is not None and not result.partial:
        own = lockstep is None and mode == "free"
        at_end(state, right.state() if own else state)
    if result.partial:
        pass
    elif tour is None:
        result.not_shown += training.not_shown()
    else:  # which says more of a run that does not train: whether it is the learning rate
        comparison.take_visits(tour, state)
    judge.finish()
    result.add_failures(rules.failures() if rules is not None else [])
    return result


@dataclasses.dataclass
class _Comparison:
    """The programs of a comparison, and everything that looks at their steps; the attributes are as in `verify`."""

    result: Verification
    judge: Judge
    left: Program
    right: Program
    lockstep: Program | None
    references: References | None
    alternatives: Sequence[Program]
    tour: Tour | None
    rules: StepCheck | None

    def take_step(self, state: State) -> StepRecord:
        """Compares the next step of the run; returns the left side's record.

        Args:
          state: the left side's state, from which the step of all programs but those on a free trajectory starts.
        """
        for program in self._followers():
            program.load(state)
        record, right_record = self.left.step(), self.right.step()
        others = [alternative.step() for alternative in self.alternatives]
        lockstep_record = None if self.lockstep is None else self.lockstep.step()
        self.judge.compare_step(record, right_record, lockstep_record, others)
        judged_record = lockstep_record or right_record
        if self.rules is not None and (self.lockstep is not None or self._is_locked()):
            self.rules.add(record, judged_record, state)
        if self.tour is not None:
            self.tour.observe(state, _with_proposals(record, judged_record), None)
        return record

    def take_visits(self, tour: Tour, last: State) -> None:
        """Compares one step from each state that the tour names, until one differs.

        Args:
          tour: names the states.
          last: the left side's state after the ordinary steps.
        """
        for visit in tour.visits(last) if self.result.passed else ():
            self._take_visit(tour, visit)
            self.result.visits.append(visit.name)
            if not self.result.passed:
                self.result.failed_visit = visit
                return

    def _take_visit(self, tour: Tour, visit: Visit) -> None:
        judged = self.right if self.lockstep is None else self.lockstep
        for program in [self.left, *dict.fromkeys([judged, *self._followers()])]:
            program.load(visit.state)
        record = self.left.step()
        others = [alternative.step() for alternative in self.alternatives]
        judged_record = judged.step()
        self.judge.compare_step(record, judged_record, None, others, is_visit=True)
        if self.rules is not None:
            self.rules.add(record, judged_record, visit.state)
        tour.observe(visit.state, _with_proposals(record, judged_record), visit)

    def _is_locked(self) -> bool:
        return self.result.mode == "locked"

    def _followers(self) -> list[Program | References]:
        """Returns all that take each step from the left side's state."""
        candidates = (self.right if self._is_locked() else None, self.lockstep, self.references, *self.alternatives)
        return [follower for follower in candidates if follower is not None]


def _mean(losses: Sequence[np.ndarray]) -> float | None:
    return float(np.mean(np.asarray(losses, np.float64))) if len(losses) else None


def _with_proposals(left: StepRecord, right: StepRecord) -> StepRecord:
    """Returns the left side's record with the right side's proposals where a saved graph does not show its own.

    They only tell whether it matters which one is taken.
    """
    return left if left.proposals else dataclasses.replace(left, proposals=right.proposals)
