"""Choice of legacy's input: times each way to feed the towers and takes the fastest, so that the comparison is fair."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from parity.comparison.setup import Setup
from parity.speed.timing import seconds_of_run

#: Values of `LegacyOptions.input` that are tried, where batches are not resident.
CANDIDATES = ("feed", "split", "queue", "dataset")

#: Steps before each trial, and repetitions of it, of which the fastest counts.
WARMUP, REPEATS = 10, 3


def choose_fastest_input(
    setup: Setup, progress: Callable[[str, int, int], None], steps: int = 40
) -> tuple[Setup, dict[str, float]]:
    """Times every input of `CANDIDATES`.

    Args:
      setup: the job on both sides.
      progress: called with (text, inputs done, inputs in all).
      steps: number of steps of one repetition.

    Returns:
      (setup with the fastest input, {input: seconds per step}).
    """
    trials: dict[str, float] = {}
    for index, candidate in enumerate(CANDIDATES):
        progress("legacy's input: " + candidate, index, len(CANDIDATES))
        with setup_with_input(setup, candidate).legacy_program() as program:
            program.run(WARMUP)
            trials[candidate] = min(seconds_of_run(program, steps) for _ in range(REPEATS)) / steps
    fastest = min(trials, key=lambda candidate: trials[candidate])
    return setup_with_input(setup, fastest), trials


def setup_with_input(setup: Setup, legacy_input: str) -> Setup:
    """Returns `setup` with another way to feed the towers."""
    return dataclasses.replace(setup, legacy=dataclasses.replace(setup.legacy, input=legacy_input))
