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

from parity.comparison.judge import Judge
from parity.comparison.references import References
from parity.comparison.result import Failure, Verification
from parity.comparison.tour import Tour
from workloads.job import Job
from workloads.program import Program, State, StepRecord
from workloads.scope import VariableSpec


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

    Returns:
      The `Verification`. A step beyond tolerance does not end the run: later stages show how the difference spreads.

    Raises:
      InputError: the programs' records hold different tensors.
    """
    result = Verification(tolerance_name, mode, mismatched=mismatches(left.variables(), right.variables()))
    if result.mismatched:
        result.passed = False
        return result
    judge = Judge(result, job, references, units or {})
    state = left.state()
    judge.compare_initial(state, right.state())
    trained = False
    locked = right if mode == "locked" else None
    followers = [follower for follower in (locked, lockstep, references, *alternatives) if follower is not None]
    for step in range(steps):
        for follower in followers:
            follower.load(state)
        record, right_record = left.step(), right.step()
        others = [alternative.step() for alternative in alternatives]
        lockstep_record = None if lockstep is None else lockstep.step()
        judge.compare_step(record, right_record, lockstep_record, others)
        if rules is not None and (lockstep_record is not None or locked is not None):
            rules.add(record, lockstep_record or right_record, state)
        if tour is not None:
            tour.observe(state, _with_proposals(record, lockstep_record or right_record), None)
        trained = trained or trains(record, state)
        state = record.state
        result.steps = step + 1
        if progress is not None:
            progress(step + 1, result)
    if tour is not None:
        judged = right if lockstep is None else lockstep
        loaded = [left, *dict.fromkeys([judged, *followers])]
        _take_visits(result, judge, tour, state, (left, judged, alternatives), loaded, rules)
    if steps and not trained and tour is None:  # a tour says more: whether it is the learning rate
        result.not_shown.append("training (in no step is there a gradient other than zero that changes a weight)")
    judge.finish()
    result.add_failures(rules.failures() if rules is not None else [])
    return result


def trains(record: StepRecord, before: State) -> bool:
    """Returns whether a step changed a weight, and had a gradient other than zero.

    Args:
      record: the step's record; one without any gradients is judged by its weights alone.
      before: the state that the step was taken from.
    """
    weights = record.state.weights
    changed = any(
        name in before.weights and not np.array_equal(before.weights[name], weights[name]) for name in weights
    )
    gradients = [array for arrays in [record.combined, *record.gradients] for array in arrays.values()]
    return changed and (not gradients or any(np.any(array) for array in gradients))


def _take_visits(
    result: Verification,
    judge: Judge,
    tour: Tour,
    last: State,
    programs: tuple[Program, Program, Sequence[Program]],
    loaded: Sequence[Program | References],
    rules: StepCheck | None,
) -> None:
    """Compares one step from each state that the tour names, until one differs.

    Args:
      result: to fill.
      judge: compares the steps.
      tour: names the states.
      last: the left side's state after the ordinary steps.
      programs: the left one, the one that is judged, and the alternatives.
      loaded: all that take each visit's state.
      rules: as in `verify`.
    """
    left, judged, alternatives = programs
    for visit in tour.visits(last) if result.passed else ():
        for program in loaded:
            program.load(visit.state)
        record = left.step()
        others = [alternative.step() for alternative in alternatives]
        judged_record = judged.step()
        judge.compare_step(record, judged_record, None, others, is_visit=True)
        if rules is not None:
            rules.add(record, judged_record, visit.state)
        tour.observe(visit.state, _with_proposals(record, judged_record), visit)
        result.visits.append(visit.name)
        if not result.passed:
            result.failed_visit = visit
            return


def _with_proposals(left: StepRecord, right: StepRecord) -> StepRecord:
    """Returns the left side's record with the right side's proposals where a saved graph does not show its own.

    They only tell whether it matters which one is taken.
    """
    return left if left.proposals else dataclasses.replace(left, proposals=right.proposals)


def mismatches(left: Sequence[VariableSpec], right: Sequence[VariableSpec]) -> list[str]:
    """Returns lines about variables that the two sides do not share by name, shape, dtype and trainability."""
    first, second = ({spec.name: spec for spec in specs} for specs in (left, right))
    lines = [f"{name}: only on the left" for name in first if name not in second]
    lines += [f"{name}: only on the right" for name in second if name not in first]
    for name in first:
        if name in second:
            for field in ("shape", "dtype", "trainable"):
                a, b = getattr(first[name], field), getattr(second[name], field)
                if str(a) != str(b):
                    lines.append(f"{name}: {field} {a} against {b}")
    return lines
