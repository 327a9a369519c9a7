"""Verification of several programs beside one: each takes every step from the first one's state."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import NamedTuple

from parity.comparison.judge import Judge
from parity.comparison.noise_floor import NoiseFloor
from parity.comparison.references import References, SharedReferences
from parity.comparison.result import Verification
from parity.comparison.verification import mismatches
from workloads.job import Job
from workloads.program import Program, RecordRewriter


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


class Outcome(NamedTuple):
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
) -> list[Outcome]:
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
        shared = [_references_of(rival, references, stack) for rival in rivals]
        return _verify(left, rivals, job, steps, references, shared, progress)


def _references_of(rival: Rival, references: References | None, stack: contextlib.ExitStack) -> SharedReferences | None:
    """The references of one rival, whose program in float64 `stack` closes."""
    if references is None:
        return None
    has_double = rival.make_double is not None and references.judges_in_double
    double = rival.view(stack.enter_context(rival.make_double())) if has_double and rival.make_double else None
    return references.shared_with(rival.view, double)


def _verify(
    left: Program,
    rivals: Sequence[Rival],
    job: Job,
    steps: int,
    references: References | None,
    shared: Sequence[SharedReferences | None],
    progress: Callable[[int], object],
) -> list[Outcome]:
    results = [Verification("auto", "locked") for _ in rivals]
    judges = [
        Judge(result, job, own, rival.units or {}, rival.floor) for result, own, rival in zip(results, shared, rivals)
    ]
    state = left.state()
    for rival, result, judge in zip(rivals, results, judges):
        result.mismatched = mismatches(left.variables(), rival.program.variables())
        result.passed = not result.mismatched
        if result.passed and not state.step:
            judge.compare_initial(state, rival.program.state())
    compared = [number for number, result in enumerate(results) if not result.mismatched]
    for step in range(steps if compared else 0):
        for follower in (references, *[shared[number] for number in compared]):
            if follower is not None:
                follower.load(state)
        record = left.step()
        if references is not None:
            references.step()
        for number in compared:
            rival = rivals[number]
            rival.program.load(state)
            taken = rival.view(rival.program).step()
            judges[number].compare_step(rival.view(left).rewrite(record), taken)
            results[number].steps = step + 1
        state = record.state
        progress(step + 1)
    for number in compared:
        judges[number].finish()
    return [Outcome(result, judge.noise_floor) for result, judge in zip(results, judges)]
