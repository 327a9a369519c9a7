"""Interleaved timing of several programs: rounds in which each is timed once, in an order that changes."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

#: Called with (text, number done, number in all).
Progress = Callable[[str, int, int], None]
#: Makes a context in which nothing else runs on this machine, as far as the caller can see to it.
Alone = Callable[[], contextlib.AbstractContextManager[object]]


class Runner(Protocol):
    """Something that takes steps, and returns when they are done."""

    def run(self, steps: int) -> object:
        """Takes `steps` steps."""


#: Seconds between two looks at the process after a block of streamed batches, and at most until the next block.
LOOK, LONGEST_REST = 0.005, 0.5

#: A process is at rest when its threads together used less processor time between two looks than this share of it.
AT_REST = 0.2

#: Steps of the longest run that is tried to find the steps of a block.
MOST_STEPS = 2**20


class RunnerFailed(Exception):
    """A runner can take no more steps; the message says why. The others are timed without it."""


class Block(NamedTuple):
    """The steps of one runner that are timed in every round.

    Attributes:
      runner: a program, warmed up.
      steps: number of timed steps.
      lead_in: steps before the clock starts, so that batches that were read ahead during the others' blocks do not
        count; 0 for none. After such a block the next one waits until the process is at rest, so that its reading
        ahead does not slow the next one down.
      rest: waits for that; None for a runner in this process (`wait_for_rest`).
    """

    runner: Runner
    steps: int
    lead_in: int = 0
    rest: Callable[[], object] | None = None


@dataclasses.dataclass
class RoundTimes:
    """Times of blocks in rounds, one block of each runner a round.

    Attributes:
      steps: number of steps of each runner's block.
      seconds: each runner's seconds, one block a round; empty for one that failed.
      failures: {number of the runner: why it failed}.
    """

    steps: list[int]
    seconds: list[list[float]]
    failures: dict[int, str] = dataclasses.field(default_factory=dict)

    @property
    def rounds(self) -> int:
        """Number of rounds so far."""
        return max((len(seconds) for seconds in self.seconds), default=0)

    def seconds_per_step(self, runner: int) -> list[float]:
        """Returns the seconds of one step in each of a runner's blocks."""
        return [seconds / self.steps[runner] for seconds in self.seconds[runner]]


def round_orders(runners: int) -> Iterator[list[int]]:
    """Yields the order of the runners in each round, without end.

    Rounds come in twos, the second in the reverse order of the first, so that a steady drift of the machine's speed
    cancels for each of them: A B C C B A. The next two rounds begin with the next runner, so that none always runs
    first or after the same one. Two runners give A B B A B A A B.
    """
    first = 0
    while True:
        order = [(first + place) % runners for place in range(runners)]
        yield order
        yield order[::-1]
        first = (first + 1) % runners


def time_rounds(
    blocks: Sequence[Block],
    rounds: int,
    needs_more: Callable[[RoundTimes], bool] | None = None,
    progress: Callable[[int], object] | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> RoundTimes:
    """Times blocks of all runners in the order of `round_orders`; each block ends with the last loss on the host.

    Args:
      blocks: one of each runner; the runners are warmed up.
      rounds: number of rounds, at least.
      needs_more: called with the times so far once there are that many; while it returns true, two more rounds are
        timed.
      progress: called with the number of rounds done.
      stop: called after every two rounds; true ends the timing with those so far.

    Returns:
      the times; an even number of rounds.
    """
    times = RoundTimes([block.steps for block in blocks], [[] for _ in blocks])
    orders = round_orders(len(blocks))
    while times.rounds < rounds or (needs_more is not None and needs_more(times)):
        for _ in range(2):
            for number in next(orders):
                if number not in times.failures:
                    _time_block(blocks[number], number, times)
        if progress is not None:
            progress(times.rounds)
        if len(times.failures) == len(blocks) or stop():
            break
    return times


def _time_block(block: Block, number: int, times: RoundTimes) -> None:
    try:
        if block.lead_in:
            block.runner.run(block.lead_in)
        times.seconds[number].append(seconds_of_run(block.runner, block.steps))
        if block.lead_in:
            (block.rest or wait_for_rest)()
    except RunnerFailed as failure:
        times.failures[number] = str(failure)
        times.seconds[number].clear()


def wait_for_rest() -> None:
    """Waits until the threads of this process, which may be reading ahead, are nearly idle."""
    for _ in range(round(LONGEST_REST / LOOK)):
        before = time.process_time()
        time.sleep(LOOK)
        if time.process_time() - before < AT_REST * LOOK:
            return


def seconds_of_run(runner: Runner, steps: int) -> float:
    """Runs `steps` steps and returns the seconds that they took."""
    start = time.perf_counter()
    runner.run(steps)  # ends with the last loss on the host, so the devices are idle
    return time.perf_counter() - start


def block_steps(runner: Runner, call: int, seconds: float) -> int:
    """Returns the number of steps of a runner's block; runs about a block of steps to find it.

    Args:
      runner: a program, warmed up.
      call: steps that the port takes in one call.
      seconds: length of the block, about.

    Returns:
      whole calls where one takes less than `seconds`, else as many steps as fit, at least 1.
    """
    sample, taken = 1, seconds_of_run(runner, 1)
    while taken < seconds / 2 and sample < MOST_STEPS:  # a call may cost more than its steps
        sample *= 2
        taken = seconds_of_run(runner, sample)
    fitting = sample * seconds / taken if taken else call
    return max(1, round(fitting / call)) * call if fitting >= call else max(1, round(fitting))
