"""Choice of legacy's input: times each way to feed the towers and takes the fastest, so that the comparison is fair."""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from parity.comparison.setup import Setup
from parity.speed.names import LEGACY_INPUTS
from parity.speed.timing import Alone, Runner, seconds_of_run
from workloads.program import Program

#: Steps before each trial, and repetitions of it, of which the fastest counts.
WARMUP, REPEATS = 5, 3

#: Approximate length of a repetition in seconds, and its least and most steps.
SECONDS, LEAST_STEPS, MOST_STEPS = 0.15, 3, 40


class FastestInput(NamedTuple):
    """The fastest of the inputs that were tried.

    Attributes:
      setup: the job with it.
      trials: {input: seconds per step}.
      program: the towers with it, which have taken the trial's steps.
    """

    setup: Setup
    trials: dict[str, float]
    program: Program


def choose_fastest_input(
    stack: contextlib.ExitStack,
    setup: Setup,
    progress: Callable[[str, int, int], None],
    candidates: Sequence[str] = LEGACY_INPUTS,
    alone: Alone = contextlib.nullcontext,
) -> FastestInput:
    """Times several inputs of the towers.

    Args:
      stack: closes the fastest program; the others are closed at once.
      setup: the job on both sides.
      progress: called with (text, inputs done, inputs in all).
      candidates: values of `LegacyOptions.input`.
      alone: makes the context of a trial, in which nothing else runs on this machine.

    Returns:
      the first of the fastest.
    """
    fastest: FastestInput | None = None
    trials: dict[str, float] = {}
    with contextlib.ExitStack() as kept:
        for index, candidate in enumerate(candidates):
            progress("legacy's input: " + candidate, index, len(candidates))
            chosen = setup_with_input(setup, candidate)
            with contextlib.ExitStack() as tried:
                program = tried.enter_context(chosen.legacy_program())
                program.run(WARMUP)
                with alone():
                    trials[candidate] = trial_seconds(program)
                if fastest is None or trials[candidate] < trials[fastest.setup.legacy.input]:
                    kept.close()
                    kept.push(tried.pop_all())
                    fastest = FastestInput(chosen, trials, program)
        stack.push(kept.pop_all())
    assert fastest is not None, "no input to try"
    return fastest


def setup_with_input(setup: Setup, legacy_input: str) -> Setup:
    """Returns `setup` with another way to feed the towers."""
    return dataclasses.replace(setup, legacy=dataclasses.replace(setup.legacy, input=legacy_input))


def trial_seconds(program: Runner) -> float:
    """Returns the seconds of a step in the fastest of some short repetitions; `program` has taken `WARMUP` steps."""
    few = seconds_of_run(program, LEAST_STEPS) / LEAST_STEPS
    steps = min(MOST_STEPS, max(LEAST_STEPS, math.ceil(SECONDS / few)))
    return min(seconds_of_run(program, steps) for _ in range(REPEATS)) / steps
