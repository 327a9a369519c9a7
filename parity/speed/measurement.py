"""Speed measurement of one workload: checks parity first, then times all programs in the same rounds of one process."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, cast

from parity.comparison.setup import Setup
from parity.processes.interruption import Interruption
from parity.speed.all_cores import FasterProgram, needs_own_process, own_process
from parity.speed.entrants import Entrant, ParityCheck, enter_programs
from parity.speed.fastest_input import choose_fastest_input
from parity.speed.names import LEGACY, MODERN, STREAMED
from parity.speed.ratio import UNDECIDED, speed_ratio, speed_verdict
from parity.speed.speed_result import SpeedResult
from parity.speed.timing import (
    Alone,
    Block,
    Progress,
    RoundTimes,
    Runner,
    RunnerFailed,
    block_steps,
    seconds_of_run,
    time_rounds,
    wait_for_rest,
)
from workloads.program import Program

#: Rounds from which on a measurement that is interrupted has ratios to report.
FEWEST_ROUNDS = 4


@dataclasses.dataclass(frozen=True)
class MeasurementPlan:
    """Lengths and numbers of the measurement's parts.

    Attributes:
      warmup: steps of each program before anything counts; they trace, tune and fill queues.
      blocks: number of timed blocks per program, at least.
      most_blocks: number of blocks per program at most, while a verdict is undecided.
      seconds: length of one block, about.
      parity_steps: number of steps compared before the clock starts.
      tried_inputs: ways of the towers to get streamed batches that are timed first, for the fastest; none: the setup's.
      all_cores: whether the port on one device is tried with all cores too, where replicas share them.
    """

    warmup: int = 20
    blocks: int = 20
    most_blocks: int = 64
    seconds: float = 0.25
    parity_steps: int = 5
    tried_inputs: tuple[str, ...] = ()
    all_cores: bool = True


class _TracedProgram(Protocol):
    """A program that counts how often its step was traced."""

    def traces(self) -> int: ...


def measure_speed(
    setups: Mapping[str, Setup],
    plan: MeasurementPlan,
    progress: Progress,
    others: Sequence[Entrant] = (),
    interruption: Interruption | None = None,
    alone: Alone = contextlib.nullcontext,
) -> SpeedResult:
    """Checks parity of the programs of each input, then times all of them in the same rounds.

    Args:
      setups: {input: the job on both sides}.
      plan: lengths and numbers of the parts.
      progress: called with (text, number done, number in all).
      others: further programs, which nothing is known of but their speed.
      interruption: ends the timing early; None for none.
      alone: makes the context of what is timed; other processes may share the machine with all else.

    Returns:
      the result; without timings if legacy and the port are not equal.

    Raises:
      RuntimeError: a step was traced while it was timed.
    """
    with contextlib.ExitStack() as stack:
        entry = _enter_inputs(stack, setups, plan, progress, alone)
        entrants = [*entry.entrants, *others]
        result = SpeedResult(entry.setups, [entrant.contestant for entrant in entrants], entry.trials)
        if result.has_parity:
            ready = [entrant for entrant in entrants if entrant.runner is not None]
            ready = [entrant for entrant in ready if _warms_up(entrant, plan, alone)]
            with alone():
                _time_all(ready, result, plan, progress, interruption)
    return result


class _Entry(NamedTuple):
    """The programs of all inputs, compared.

    Attributes:
      setups: {input: the job, with the towers' fastest input where inputs were tried}.
      entrants: the programs.
      trials: {way of the towers to get batches: seconds per step} of those that were tried.
    """

    setups: dict[str, Setup]
    entrants: list[Entrant]
    trials: dict[str, float]


def _enter_inputs(
    stack: contextlib.ExitStack, setups: Mapping[str, Setup], plan: MeasurementPlan, progress: Progress, alone: Alone
) -> _Entry:
    """Makes and compares the programs of each input; `stack` closes them."""
    tries = plan.all_cores and any(needs_own_process(setup) for setup in setups.values())
    process = own_process() if tries else None
    if process is not None:
        stack.callback(process.close_programs)
    comparison = ParityCheck(
        plan.parity_steps, lambda done: progress("parity", done, plan.parity_steps), own_process=process
    )
    entry = _Entry(dict(setups), [], {})
    for name, setup in setups.items():
        towers: Program | None = None
        if plan.tried_inputs and name == STREAMED:
            with contextlib.ExitStack() as tried:
                chosen = choose_fastest_input(tried, setup, progress, plan.tried_inputs, alone)
                entry.setups[name], trials, towers = chosen
                entry.trials.update(trials)
                if entry.entrants:  # the first comparison must begin at the initial values
                    stack.push(tried.pop_all())
        left = towers if entry.entrants else None
        entry.entrants.extend(enter_programs(stack, entry.setups[name], name, comparison, left))
    return entry


def _time_all(
    entrants: Sequence[Entrant],
    result: SpeedResult,
    plan: MeasurementPlan,
    progress: Progress,
    interruption: Interruption | None,
) -> None:
    """Times all programs, which are warmed up; fills their contestants."""
    ready = [entrant for entrant in entrants if _finds_block(entrant, result, plan)]
    ports = [cast(Program, e.runner) for e in ready if e.contestant.name == MODERN]
    traces = [_traces(port) for port in ports]
    places = {(e.contestant.name, e.contestant.input): number for number, e in enumerate(ready)}
    sides = [(places[LEGACY, name], places[MODERN, name]) for name in result.setups]

    def show(rounds: int) -> None:
        progress("timing, blocks per program", rounds, plan.blocks)
        if interruption is not None and rounds >= FEWEST_ROUNDS:
            interruption.keep_results()

    times = time_rounds(
        [_block(entrant) for entrant in ready],
        plan.blocks,
        lambda times: _needs_more_rounds(times, sides, plan),
        show,
        stop=lambda: interruption is not None and interruption.asked,
    )
    result.partial = interruption is not None and interruption.asked
    if [_traces(port) for port in ports] != traces:
        raise RuntimeError("a tf.function was traced inside a timed block; the times mean nothing")
    for number, entrant in enumerate(ready):
        entrant.contestant.seconds = times.seconds[number]
        entrant.contestant.problem = times.failures.get(number, "")


def _warms_up(entrant: Entrant, plan: MeasurementPlan, alone: Alone) -> bool:
    """Runs a program's first steps, of the faster where there are two forms of it; false if it failed."""
    runner, contestant = cast(Runner, entrant.runner), entrant.contestant
    try:
        if isinstance(runner, FasterProgram):
            with alone():
                contestant.note = "; ".join(filter(None, [contestant.note, runner.choose()]))
        contestant.startup = seconds_of_run(runner, plan.warmup)
    except RunnerFailed as failure:
        contestant.problem = str(failure)
        return False
    return True


def _finds_block(entrant: Entrant, result: SpeedResult, plan: MeasurementPlan) -> bool:
    """Finds the length of a program's blocks; false if it failed."""
    runner, contestant = cast(Runner, entrant.runner), entrant.contestant
    try:
        contestant.steps = block_steps(runner, result.setup.modern.steps_per_call, plan.seconds)
    except RunnerFailed as failure:
        contestant.problem = str(failure)
        return False
    return True


def _rest(runner: Runner) -> None:
    """Waits until nothing is read ahead any more, neither here nor in the runner's own process."""
    if isinstance(runner, FasterProgram):
        runner.rest()
    wait_for_rest()


def _block(entrant: Entrant) -> Block:
    """Returns a program's block, with a lead-in where batches are read ahead."""
    runner, steps = cast(Runner, entrant.runner), entrant.contestant.steps
    lead_in = max(1, steps // 2) if entrant.contestant.input == STREAMED else 0
    return Block(runner, steps, lead_in, functools.partial(_rest, runner))


def _needs_more_rounds(times: RoundTimes, sides: Sequence[tuple[int, int]], plan: MeasurementPlan) -> bool:
    """Whether some input's verdict on legacy and the port is undecided, and more rounds are allowed."""
    if times.rounds >= plan.most_blocks:
        return False
    ratios = [speed_ratio(times.seconds_per_step(left), times.seconds_per_step(right)) for left, right in sides]
    return any(speed_verdict(ratio) == UNDECIDED for ratio in ratios)


def _traces(program: Program) -> int:
    """Returns how often the port's step was traced; every port that can be timed counts its traces."""
    return cast(_TracedProgram, program).traces()
