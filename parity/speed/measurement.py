"""Speed measurement of one workload: checks parity first, then times both sides in one process."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import NamedTuple, Protocol, cast

import numpy as np

from parity.comparison import tolerance
from parity.comparison.result import Verification
from parity.comparison.setup import Setup
from parity.comparison.verification import verify
from parity.speed.fastest_input import choose_fastest_input
from parity.speed.ratio import UNDECIDED, SpeedRatio, scaled_mad, speed_ratio, speed_verdict
from parity.speed.timing import BlockTimes, block_steps, seconds_of_run, time_blocks
from workloads.program import Program

#: Called with (text, number done, number in all).
Progress = Callable[[str, int, int], None]


@dataclasses.dataclass(frozen=True)
class MeasurementPlan:
    """Lengths and numbers of the measurement's parts.

    Attributes:
      warmup: steps of each side before anything counts; they trace, tune and fill queues.
      blocks: number of timed blocks per side, at least.
      most_blocks: number of blocks per side at most, while the verdict is undecided.
      seconds: length of one block, about.
      parity_steps: number of steps compared before the clock starts.
      tune_input: time the towers' ways to get batches first and take the fastest.
    """

    warmup: int = 20
    blocks: int = 20
    most_blocks: int = 64
    seconds: float = 0.25
    parity_steps: int = 5
    tune_input: bool = False


class Throughput(NamedTuple):
    """Examples per second of one side.

    Attributes:
      median: over the blocks.
      relative_mad: scaled median absolute deviation over the median.
    """

    median: float
    relative_mad: float


@dataclasses.dataclass
class SpeedResult:
    """The result of a speed measurement. Without parity no step is timed.

    Attributes:
      setup: the job on both sides, with the input that was chosen.
      verification: the comparison of the programs that are timed.
      settings: {"left" or "right": {setting: text}}; see `Program.describe`.
      startup: {side: seconds of the warm-up steps}.
      blocks: the timed blocks; empty without parity.
      ratio: the ratio of the speeds; None without parity.
      verdict: see `speed_verdict`; "no parity" without parity.
      input_trials: {legacy input: seconds per step}; empty if none was tried.
    """

    setup: Setup
    verification: Verification
    settings: dict[str, dict[str, str]]
    startup: dict[str, float] = dataclasses.field(default_factory=dict)
    blocks: BlockTimes = dataclasses.field(default_factory=lambda: BlockTimes(0))
    ratio: SpeedRatio | None = None
    verdict: str = "no parity"
    input_trials: dict[str, float] = dataclasses.field(default_factory=dict)

    def examples_per_second(self, global_batch: int) -> dict[str, Throughput]:
        """Returns {"left" or "right": throughput}; empty without parity."""
        if not self.blocks.left:
            return {}
        examples = global_batch * self.blocks.steps
        sides = {"left": self.blocks.left, "right": self.blocks.right}
        return {side: _throughput(examples / np.asarray(seconds)) for side, seconds in sides.items()}


class _TracedProgram(Protocol):
    """A program that counts how often its step was traced."""

    def traces(self) -> int: ...


def measure_speed(setup: Setup, plan: MeasurementPlan, progress: Progress) -> SpeedResult:
    """Checks parity of both sides, then times them.

    Args:
      setup: the job on both sides.
      plan: lengths and numbers of the parts.
      progress: called with (text, number done, number in all).

    Returns:
      the result; without timings if the programs are not equal.

    Raises:
      RuntimeError: a step was traced while it was timed.
    """
    setup, trials = choose_fastest_input(setup, progress) if plan.tune_input else (setup, {})
    verification = _verify_timed_programs(setup, plan, progress)
    with setup.legacy_program() as left, setup.modern_program() as right:
        settings = {"left": left.describe(), "right": right.describe()}
        result = SpeedResult(setup, verification, settings, input_trials=trials)
        if not verification.passed:
            return result
        result.startup = {"left": seconds_of_run(left, plan.warmup), "right": seconds_of_run(right, plan.warmup)}
        steps = block_steps((left, right), setup.modern.steps_per_call, plan.seconds)
        traces = _traces(right)
        result.blocks = time_blocks(
            left,
            right,
            steps,
            plan.blocks,
            lambda times: _needs_more_blocks(times, plan),
            lambda done: progress("timing, blocks per side", done, plan.blocks),
        )
        if _traces(right) != traces:
            raise RuntimeError("a tf.function was traced inside a timed block; the times mean nothing")
    result.ratio = speed_ratio(result.blocks)
    result.verdict = speed_verdict(result.ratio)
    return result


def _needs_more_blocks(times: BlockTimes, plan: MeasurementPlan) -> bool:
    return len(times.left) < plan.most_blocks and speed_verdict(speed_ratio(times)) == UNDECIDED


def _verify_timed_programs(setup: Setup, plan: MeasurementPlan, progress: Progress) -> Verification:
    """Compares the programs with the very kernels that will be timed."""
    with setup.legacy_program() as left, setup.modern_program() as right, setup.closing_references() as references:
        return verify(
            left,
            right,
            setup.job,
            plan.parity_steps,
            mode="locked",
            tolerance_name="auto",
            references=references,
            progress=lambda done, _: progress("parity", done, plan.parity_steps),
            units=tolerance.keras_units(setup.job.workload.optimizer, setup.modern.update_rules),
        )


def _throughput(rates: np.ndarray) -> Throughput:
    median = float(np.median(rates))
    return Throughput(median, scaled_mad(rates) / median)


def _traces(program: Program) -> int:
    """Returns how often the port's step was traced; every port that can be timed counts its traces."""
    return cast(_TracedProgram, program).traces()
