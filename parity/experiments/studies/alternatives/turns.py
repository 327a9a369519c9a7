"""Alternatives that take turns: each in its process, timed in interleaved rounds or observed one after the other."""

from __future__ import annotations

import contextlib
import dataclasses
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from parity.experiments.studies.alternatives.alternative import Alternative, warmed_up
from parity.speed.program_process import ProgramProcess, RemoteProgram
from parity.speed.ratio import SpeedRatio, speed_ratio
from parity.speed.timing import Block, Progress, block_steps, time_rounds


@dataclasses.dataclass(frozen=True)
class TurnPlan:
    """Extent of a timing.

    Attributes:
      rounds: number of timed blocks of each alternative; even.
      seconds: length of a block, about.
      warm_up: steps of each alternative before anything counts.
    """

    rounds: int = 16
    seconds: float = 0.25
    warm_up: int = 5


#: For `--quick`.
QUICK = TurnPlan(rounds=2, seconds=0.02, warm_up=2)


@dataclasses.dataclass(frozen=True)
class TurnTimes:
    """Times of alternatives that took turns.

    Attributes:
      seconds: {name: seconds of one example, or of one step where all have the same batch; one a block}.
    """

    seconds: Mapping[str, Sequence[float]]

    def median(self, name: str) -> float:
        """Returns the median over the blocks, in seconds."""
        return statistics.median(self.seconds[name])

    def speed(self, name: str, base: str) -> SpeedRatio:
        """Returns the speed of an alternative over that of another; above 1, `name` is faster."""
        return speed_ratio(self.seconds[base], self.seconds[name])

    def to_json(self) -> dict[str, Any]:
        """Returns the times for `--json`."""
        return {name: list(seconds) for name, seconds in self.seconds.items()}


class Turns(contextlib.ExitStack):
    """The processes of a study; each alternative that has another name has another process.

    Args:
      plan: extent of the timings.
      progress: called with (text, number done, number in all).
    """

    def __init__(self, plan: TurnPlan, progress: Progress) -> None:
        super().__init__()
        self._plan, self._progress = plan, progress
        self._processes: dict[str, ProgramProcess] = {}

    def time(self, alternatives: Sequence[Alternative], title: str) -> TurnTimes:
        """Times alternatives in the same rounds.

        Args:
          alternatives: with different names.
          title: for the progress.

        Returns:
          the seconds of one example.
        """
        plan = self._plan
        programs = self._open_all(alternatives, plan.warm_up)
        blocks = [_block(program, way, plan.seconds) for program, way in zip(programs, alternatives)]
        times = time_rounds(blocks, plan.rounds, progress=lambda done: self._progress(title, done, plan.rounds))
        return TurnTimes(
            {
                alternative.name: [s / alternative.setup.job.global_batch for s in times.seconds_per_step(number)]
                for number, alternative in enumerate(alternatives)
            }
        )

    def observe(self, alternative: Alternative, function: Callable[..., Any], *arguments: object) -> Any:
        """Opens an alternative and looks at its program.

        Args:
          alternative: the program.
          function: called in its process with the program and the arguments.
          arguments: picklable.

        Returns:
          the result of the function.
        """
        (program,) = self._open_all([alternative], 0)
        return program.observe(function, *arguments)

    def _open_all(self, alternatives: Sequence[Alternative], warm_up: int) -> list[RemoteProgram]:
        """Makes the programs of the alternatives at the same time: nothing is timed there."""
        programs = []
        for alternative in alternatives:
            if alternative.name not in self._processes:
                process = ProgramProcess(alternative.name, dict(alternative.variables))
                self._processes[alternative.name] = self.enter_context(process)
            process = self._processes[alternative.name]
            process.close_programs()
            programs.append(process.start(warmed_up, alternative, warm_up))
        for program in programs:
            program.wait_until_made()
        return programs


def _block(program: RemoteProgram, alternative: Alternative, seconds: float) -> Block:
    """Returns the block of an alternative; `seconds` is its length, about."""
    steps = block_steps(program, alternative.steps_per_call, seconds)
    return Block(program, steps, lead_in=max(1, steps // 2) if alternative.streamed else 0, rest=program.rest)
