"""Verification: steps two programs side by side and compares every tensor of their step records.

Identical bits are compared along two free trajectories. Where rounding may differ, trajectories diverge sooner or later
whatever the port does, since training amplifies rounding. So "auto" judges each step by itself: a second copy of the
port, the lockstep replica, takes every step from legacy's own state. If those steps agree, the port is the same
program, and the step at which the free trajectories diverge is only reported. Rounding must not hide a fault either, so
both sides take the step in float64 too, where equal mathematics agrees to ten more digits (see `references`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from parity.comparison.history import mean_loss
from parity.comparison.judging.judge import Judge
from parity.comparison.references import References
from parity.comparison.result import Verification
from parity.comparison.runs.options import ALONE, IDENTICAL_BITS, UNOBSERVED, Companions, Criterion, Observers
from parity.comparison.runs.training_check import TrainingCheck
from parity.comparison.runs.variable_match import match_variables
from parity.comparison.tour import Tour, Visit
from parity.comparison.underflow import differ_by_underflow_alone
from workloads.job import Job
from workloads.program import Program, State, StepRecord
from workloads.support.errors import OpFailed


def verify(
    left: Program,
    right: Program,
    job: Job,
    steps: int,
    criterion: Criterion = IDENTICAL_BITS,
    companions: Companions = ALONE,
    observers: Observers = UNOBSERVED,
) -> Verification:
    """Steps two programs side by side and compares every tensor of their records.

    Args:
      left: program of `job`; usually legacy, or a recording of it.
      right: program of `job`; usually the port.
      job: the job of both.
      steps: number of steps.
      criterion: mode and tolerance; by default identical bits along two free trajectories.
      companions: programs that take each step from the left one's state.
      observers: objects that look at the steps, choose further ones or end the run.

    Returns:
      The `Verification`. A step beyond tolerance does not end the run: later stages show how the difference spreads.

    Raises:
      InputError: the programs' records hold different tensors.
    """
    result = Verification(criterion.tolerance_name, criterion.mode)
    if not match_variables(result, left, right):
        return result
    judge = Judge(result, job, companions.references, criterion.units, history=observers.history)
    comparison = _Comparison(result, judge, left, right, criterion, companions, observers)
    comparison.take_steps(steps)
    judge.finish()
    result.add_failures(observers.rules.failures() if observers.rules is not None else [])
    return result


@dataclasses.dataclass
class _Comparison:
    """The programs of a comparison, and everything that looks at their steps; the attributes are as in `verify`."""

    result: Verification
    judge: Judge
    left: Program
    right: Program
    criterion: Criterion
    companions: Companions
    observers: Observers

    def take_steps(self, steps: int) -> None:
        """Compares the steps of the run, and after the last one those from other states.

        Args:
          steps: number of steps of the run, before those of the visits.
        """
        result, training, state = self.result, TrainingCheck(), self.left.state()
        self.judge.compare_initial(state, self.right.state())
        for step in range(steps):
            record = self._take_step(state)
            training.add(record, state)
            # Between the steps of a recorded program, other runs may have changed its variables.
            state = self.left.state() if self.criterion.is_locked else record.state
            result.steps, result.loss = step + 1, mean_loss(record.losses)
            if self.observers.progress is not None:
                self.observers.progress(step + 1, result)
            if step + 1 < steps and self.observers.stop():
                result.partial = True
                result.not_shown.append(f"interrupted after {step + 1} of {steps} steps")
                return
        if self.observers.at_end is not None:
            self.observers.at_end(state, self.right.state() if self._is_free() else state)
        if self.observers.tour is None:
            result.not_shown += training.not_shown()
        else:  # it also gives the reason why a run does not train, such as a learning rate of zero
            self._take_visits(self.observers.tour, state)

    def _take_step(self, state: State) -> StepRecord:
        """Compares the next step of the run; returns the left side's record.

        Args:
          state: the left side's state, from which the step of all programs but those on a free trajectory starts.
        """
        for program in self._followers():
            program.load(state)
        lockstep, rules, tour = self.companions.lockstep, self.observers.rules, self.observers.tour
        record, right_record = self.left.step(), self.right.step()
        lockstep_record = None if lockstep is None else lockstep.step()
        self.judge.compare_step(record, right_record, lockstep_record, self._other_orders())
        judged_record = lockstep_record or right_record
        if rules is not None and not self._is_free():
            rules.add(record, judged_record, state)
        if tour is not None:
            tour.observe(state, _with_proposals(record, judged_record), None)
        return record

    def _take_visits(self, tour: Tour, last: State) -> None:
        """Compares one step from each state that the tour names, until one differs.

        Args:
          tour: names the states.
          last: the left side's state after the ordinary steps.
        """
        for visit in tour.visits(last) if self.result.passed else ():
            if not self._take_visit(tour, visit):
                continue
            self.result.visits.append(visit.name)
            if not self.result.passed:
                self.result.failed_visit = visit
                return

    def _take_visit(self, tour: Tour, visit: Visit) -> bool:
        """Compares one step from a visit's state; returns whether it is one that counts, see `Visit`."""
        judged = self.right if self.companions.lockstep is None else self.companions.lockstep
        for program in [self.left, *dict.fromkeys([judged, *self._followers()])]:
            program.load(visit.state)
        record = self._record_of_visit(visit)
        if record is None:
            return False
        judged_record = judged.step()
        if visit.may_underflow and differ_by_underflow_alone(record, judged_record):
            return False
        self.judge.compare_step(record, judged_record, None, self._other_orders(), is_visit=True)
        if self.observers.rules is not None:
            self.observers.rules.add(record, judged_record, visit.state)
        tour.observe(visit.state, _with_proposals(record, judged_record), visit)
        return True

    def _other_orders(self) -> Iterator[StepRecord]:
        """Takes the step in one alternative order of reads and updates after the other."""
        for alternative in self.companions.alternatives:
            yield alternative.step()

    def _record_of_visit(self, visit: Visit) -> StepRecord | None:
        """Takes the left side's step of a visit; returns None where it shows nothing, see `Visit`."""
        try:
            record = self.left.step()
        except OpFailed:
            return None  # no run of the program reaches this state, such as a place of a queue behind its last one
        compares_overflow = not visit.may_overflow or self.criterion.tolerance_name == "exact"
        return record if compares_overflow or record.is_finite() else None

    def _is_free(self) -> bool:
        """Whether the steps that are judged follow a trajectory of the right side's own."""
        return self.companions.lockstep is None and not self.criterion.is_locked

    def _followers(self) -> list[Program | References]:
        """Returns all that take each step from the left side's state."""
        right = self.right if self.criterion.is_locked else None
        candidates = (right, self.companions.lockstep, self.companions.references, *self.companions.alternatives)
        return [follower for follower in candidates if follower is not None]


def _with_proposals(left: StepRecord, right: StepRecord) -> StepRecord:
    """Returns the left side's record with the right side's proposals where a saved graph does not show its own.

    They only tell whether it matters which one is taken.
    """
    return left if left.proposals else dataclasses.replace(left, proposals=right.proposals)
