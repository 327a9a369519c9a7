"""A step taken again on both sides with the values inside of the model recorded, to find the layer that differs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING

from workloads.taps import ALL

if TYPE_CHECKING:
    from parity.comparison.setup import Setup
    from workloads.program import State, StepRecord


def tapped_step(setup: Setup) -> Callable[[State], tuple[StepRecord, StepRecord]] | None:
    """Returns a function that takes the step after a state on both sides, with all taps on.

    Taps change no bit of anything else; they cost another build of both programs, and a copy of each activation. A step
    that is asked for again is not taken again.

    Args:
      setup: the job and how both sides run it.

    Returns:
      function from the state to the records (left, right); None where one of the sides has no taps.
    """
    if not _has_taps(setup):
        return None
    legacy, modern = dataclasses.replace(setup.legacy, taps=ALL), dataclasses.replace(setup.modern, taps=ALL)
    tapped = dataclasses.replace(setup, legacy=legacy, modern=modern, first_state=None)

    taken: dict[int, tuple[StepRecord, StepRecord]] = {}

    def take(state: State) -> tuple[StepRecord, StepRecord]:
        if state.step not in taken:
            taken[state.step] = take_anew(state)
        return taken[state.step]

    def take_anew(state: State) -> tuple[StepRecord, StepRecord]:
        with tapped.legacy_program() as left, tapped.modern_program() as right:
            for program in (left, right):
                program.load(state)
            return left.step(), right.step()

    return take


def _has_taps(setup: Setup) -> bool:
    """Whether both sides can record taps: towers and port in this process, built from a workload's own layers."""
    one_process = setup.workers == 1 and not setup.parameter_servers and not setup.layer_devices
    plain = setup.job.staleness is None and not setup.modern.xla and setup.legacy.input != "queue"
    return one_process and plain and not setup.has_old_graph
