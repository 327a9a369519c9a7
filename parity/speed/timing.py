"""Interleaved timing of two programs: blocks in the order A B B A, so that a drift of the machine's speed cancels."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable

from workloads.program import Program


@dataclasses.dataclass
class BlockTimes:
    """Times of neighbouring blocks: `left[i]` and `right[i]` are seconds for `steps` steps each."""

    steps: int
    left: list[float] = dataclasses.field(default_factory=list)
    right: list[float] = dataclasses.field(default_factory=list)


def time_blocks(
    left: Program,
    right: Program,
    steps: int,
    blocks: int,
    needs_more: Callable[[BlockTimes], bool] | None = None,
    progress: Callable[[int], object] | None = None,
) -> BlockTimes:
    """Times blocks of both programs in the order A B B A; each block ends with the last loss read to the host.

    Args:
      left: a program, warmed up.
      right: another program, warmed up.
      steps: number of steps of a block.
      blocks: number of blocks per side, at least.
      needs_more: called with the times so far once there are that many; while it returns true, two more blocks per
        side are timed.
      progress: called with the number of blocks done per side.

    Returns:
      the times; an even number of blocks per side.
    """
    times = BlockTimes(steps)
    while len(times.left) < blocks or (needs_more is not None and needs_more(times)):
        for first, second in ((left, right), (right, left)):
            seconds = {first: seconds_of_run(first, steps), second: seconds_of_run(second, steps)}
            times.left.append(seconds[left])
            times.right.append(seconds[right])
        if progress is not None:
            progress(len(times.left))
    return times


def seconds_of_run(program: Program, steps: int) -> float:
    """Runs `steps` steps and returns the seconds that they took."""
    start = time.perf_counter()
    program.run(steps)  # ends with the last loss on the host, so the devices are idle
    return time.perf_counter() - start


def block_steps(programs: Iterable[Program], multiple: int, seconds: float) -> int:
    """Returns the number of steps for blocks of about equal length; runs `multiple` steps of each program to find it.

    Args:
      programs: the programs, warmed up.
      multiple: the result is a multiple of it.
      seconds: length of a block on the slowest program, about.

    Returns:
      the number of steps, at least `multiple`.
    """
    slowest = max(seconds_of_run(program, multiple) for program in programs) / multiple
    return max(1, round(seconds / slowest / multiple)) * multiple
