"""Verification of several programs beside one: each takes every step from the first one's state."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import NamedTuple

from parity.comparison.judging.judge import Judge
from parity.comparison.judging.noise_floor import NoiseFloor
from parity.comparison.references import References, SharedReferences
from parity.comparison.result import Verification
from parity.comparison.runs.variable_match import match_variables
from workloads.job import Job
from workloads.program import Program, RecordRewriter, State, StepRecord


class Rival(NamedTuple):
    """A program that is compared with the left one.

    Attributes:
      program: at any step; it is loaded with the left one's state.
      view: wraps a program so that its records are shown in the form that both sides have.
      make_double: makes the program in float64, where the mathematics is judged; None for the references' port.
      units: {stage: ulps} allowed beyond the base; see `verify`.
      floor: noise floor of an earlier comparison, for one without references; or None.
    """

    program: Program
    view: Callable[[Program], RecordRewriter]
    make_double: Callable[[], Program] | None = None
    units: dict[str, float] | None = None
    floor: NoiseFloor | None = None


class RivalVerification(NamedTuple):
    """The comparison of one rival.

    Attributes:
      verification: its result.
      floor: the noise floor that was measured, or given; None without either.
    """

    verification: Verification
    floor: NoiseFloor | None


def verify_together(
    left: Program,
    rivals: Sequence[Rival],
    job: Job,
    steps: int,
    references: References | None,
    progress: Callable[[int], object],
) -> list[RivalVerification]:
    """Compares several programs with one, step by step under "auto"; the left one takes each step once.

    Args:
      left: takes the steps; usually legacy. It may have taken some already.
      rivals: the other programs.
      job: of all.
      steps: number of steps.
      references: programs beside the left one, and the port in float64; None judges in the run's precision only.
      progress: called with the number of steps done.

    Returns:
      each rival's outcome.
    """
    with contextlib.ExitStack() as stack:
        comparisons = [_Comparison(left, rival, job, _references_of(rival, references, stack)) for rival in rivals]
        state = left.state()
        for comparison in comparisons:
            comparison.start(state)
        compared = [comparison for comparison in comparisons if not comparison.result.mismatched]
        for step in range(steps if compared else 0):
            if references is not None:
                references.load(state)
            for comparison in compared:
                comparison.load(state)
            record = left.step()
            if references is not None:
                references.step()
            for comparison in compared:
                comparison.take_step(record)
            state = record.state
            progress(step + 1)
        return [comparison.outcome() for comparison in comparisons]


def _references_of(rival: Rival, references: References | None, stack: contextlib.ExitStack) -> SharedReferences | None:
    """Returns the references of one rival, whose program in float64 `stack` closes."""
    if references is None:
        return None
    has_double = rival.make_double is not None and references.judges_in_double
    double = rival.view(stack.enter_context(rival.make_double())) if has_double and rival.make_double else None
    return references.shared_with(rival.view, double)


class _Comparison:
    """The comparison of one rival.

    Args:
      left: the program that it is compared with, which takes its steps elsewhere.
      rival: the rival.
      job: of both.
      references: beside the left program, as this rival sees them; or None.
    """

    def __init__(self, left: Program, rival: Rival, job: Job, references: SharedReferences | None) -> None:
        self.result = Verification("auto", "locked")
        self._judge = Judge(self.result, job, references, rival.units or {}, rival.floor)
        self._left, self._rival, self._references = left, rival, references

    def start(self, state: State) -> None:
        """Compares the variables, and the left program's `state` unless it has taken steps before."""
        if match_variables(self.result, self._left, self._rival.program) and not state.step:
            self._judge.compare_initial(state, self._rival.program.state())

    def load(self, state: State) -> None:
        """Makes `state` the one that the rival's next step starts from."""
        self._rival.program.load(state)
        if self._references is not None:
            self._references.load(state)

    def take_step(self, record: StepRecord) -> None:
        """Takes a step and compares it with the left program's record."""
        taken = self._rival.view(self._rival.program).step()
        self._judge.compare_step(self._rival.view(self._left).rewrite(record), taken)
        self.result.steps += 1

    def outcome(self) -> RivalVerification:
        """Completes the result and returns it."""
        if not self.result.mismatched:
            self._judge.finish()
        return RivalVerification(self.result, self._judge.noise_floor)
