"""Profiles of both sides of a job, and their step times beside the floor's, measured in interleaved rounds."""

from __future__ import annotations

import contextlib
import dataclasses
import statistics
from typing import Any, NamedTuple, cast

from legacy.towers.graph_program import GraphProgram
from parity.comparison.setup import Setup
from parity.profiling.kernel_events import events_of_steps
from parity.profiling.kernel_floor import KernelFloor
from parity.profiling.op_copies import FloorUnknown
from parity.profiling.step_profile import StepProfile, profile_of_events
from parity.speed.ratio import SpeedRatio, ratio_json, speed_ratio
from parity.speed.timing import Block, Progress, RoundTimes, Runner, block_steps, time_rounds
from workloads.program import Program

#: Steps of each side before anything is measured.
WARM_UP = 3

FLOOR = "floor"


@dataclasses.dataclass(frozen=True)
class ProfilePlan:
    """Extent of a profile.

    Attributes:
      steps: number of steps under the profiler.
      rounds: number of rounds in which both sides and the floor are timed; even.
      seconds: length of a timed block, about.
    """

    steps: int = 10
    rounds: int = 10
    seconds: float = 0.25


class SideProfile(NamedTuple):
    """Profile of one side.

    Attributes:
      profile: where the time of a step goes, under the profiler.
      seconds: of one step without the profiler, the median over the blocks.
      above_floor: the step's time over the floor's, with its interval; None without a floor.
    """

    profile: StepProfile
    seconds: float
    above_floor: SpeedRatio | None

    def to_json(self) -> dict[str, Any]:
        """Returns the profile for `--json`; times in seconds."""
        return {**self.profile.to_json(), "seconds": self.seconds, "times_floor": ratio_json(self.above_floor)}


class SideProfiles(NamedTuple):
    """Profiles of both sides.

    Attributes:
      sides: {"legacy" or "modern": its profile}.
      products: number of convolutions and products in a step; 0 without a floor.
      floor: seconds that they need by themselves; None without a floor.
      no_floor: the reason why there is none, or "".
    """

    sides: dict[str, SideProfile]
    products: int
    floor: float | None
    no_floor: str

    def to_json(self) -> dict[str, Any]:
        """Returns the profiles for `--json`; times in seconds."""
        floor = {"products": self.products, "seconds": self.floor, "unknown": self.no_floor}
        return {"sides": {side: profile.to_json() for side, profile in self.sides.items()}, "floor": floor}


def profile_sides(setup: Setup, plan: ProfilePlan, progress: Progress) -> SideProfiles:
    """Profiles a job on both sides, then times them and the floor without the profiler.

    Args:
      setup: the job and how both sides run it.
      plan: extent of the profile.
      progress: called with (text, number done, number in all).

    Returns:
      the profiles.
    """
    with contextlib.ExitStack() as stack:
        programs: dict[str, Program] = {
            "legacy": stack.enter_context(setup.legacy_program()),
            "modern": stack.enter_context(setup.modern_program()),
        }
        profiles = {}
        for number, (side, program) in enumerate(programs.items()):
            progress(f"profile of {side}", number, len(programs))
            profiles[side] = profile_of_events(events_of_steps(program, plan.steps), plan.steps)
        floor, reason = _make_floor(programs["legacy"], setup)
        runners: dict[str, Runner] = {**programs}
        if floor is not None:
            runners[FLOOR] = stack.enter_context(contextlib.closing(floor))
        times = _time_runners(list(runners.values()), setup.modern.steps_per_call, plan, progress)
    seconds = dict(zip(runners, (times.seconds_per_step(number) for number in range(len(runners)))))
    sides = {side: _side_profile(profiles[side], seconds[side], seconds.get(FLOOR)) for side in programs}
    count, median = (floor.count, statistics.median(seconds[FLOOR])) if floor is not None else (0, None)
    return SideProfiles(sides, count, median, reason)


def _make_floor(towers: Program, setup: Setup) -> tuple[KernelFloor | None, str]:
    """The floor of the towers' graph; or None and the reason."""
    program = cast(GraphProgram, towers)
    try:
        floor = KernelFloor(program.graph, program.train_nodes(), setup.devices())
    except FloorUnknown as unknown:
        return None, str(unknown)
    return (floor, "") if floor.count else (None, "the graph has no convolution and no matrix product")


def _time_runners(runners: list[Runner], call: int, plan: ProfilePlan, progress: Progress) -> RoundTimes:
    for runner in runners:
        runner.run(WARM_UP)
    blocks = [Block(runner, block_steps(runner, call, plan.seconds)) for runner in runners]
    return time_rounds(blocks, plan.rounds, progress=lambda done: progress("timing, rounds", done, plan.rounds))


def _side_profile(profile: StepProfile, seconds: list[float], floor: list[float] | None) -> SideProfile:
    above = None if floor is None else speed_ratio(seconds, floor)
    return SideProfile(profile, statistics.median(seconds), above)
