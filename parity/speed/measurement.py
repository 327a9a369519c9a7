"""One workload's benchmark: parity first, then both sides' speed, in one process."""

from __future__ import annotations

import dataclasses
import time
from typing import Any, Dict

import numpy as np

from parity.comparison import tolerance
from parity.comparison.verification import verify
from parity.speed import timing

#: Ways to feed the towers that are tried when the best is asked for, where batches are not resident.
CANDIDATES = ("feed", "split", "queue", "dataset")


@dataclasses.dataclass(frozen=True)
class Plan:
    """How long to measure.

    Attributes:
      warmup: steps of each side before anything counts; they trace, tune and fill queues.
      blocks, most_blocks: a side, at least, and at most while the verdict is undecided.
      seconds: of one block, about.
      parity_steps: compared before the clock starts.
      tune_input: try the towers' ways to get batches and take the fastest.
    """

    warmup: int = 20
    blocks: int = 20
    most_blocks: int = 64
    seconds: float = 0.25
    parity_steps: int = 5
    tune_input: bool = False


@dataclasses.dataclass
class SpeedResult:
    """What a benchmark of `setup` found; `ratio` is None where parity failed, and then no speed is shown."""

    setup: Any
    verification: Any
    settings: Dict[str, Dict[str, str]]
    startup: Dict[str, float] = dataclasses.field(default_factory=dict)
    blocks: Any = None
    ratio: Any = None
    verdict: str = "no parity"
    input_trials: Dict[str, float] = dataclasses.field(default_factory=dict)

    def examples_per_second(self, global_batch):
        """{side: (median, median absolute deviation relative to it)}."""
        rates = {
            side: global_batch * self.blocks.steps / np.asarray(getattr(self.blocks, side))
            for side in ("left", "right")
        }
        return {
            side: (float(np.median(rate)), timing.mad(rate) / float(np.median(rate))) for side, rate in rates.items()
        }


def run(setup, plan, progress):
    """Benchmarks `setup` (a `pair.Setup`).

    Args:
      progress: called with (text, done, total).

    Returns:
      `SpeedResult`.
    """
    setup, trials = best_input(setup, progress) if plan.tune_input else (setup, {})
    checked = _check(setup, plan, progress)
    with setup.legacy_program() as left, setup.modern_program() as right:
        settings = {"left": left.describe(), "right": right.describe()}
        result = SpeedResult(setup, checked, settings, input_trials=trials)
        if not checked.passed:
            return result
        result.startup = {"left": _warm_up(left, plan.warmup), "right": _warm_up(right, plan.warmup)}
        steps = timing.block_steps((left, right), setup.modern.steps_per_call, plan.seconds)
        traces = right.traces()
        result.blocks = timing.interleave(
            left,
            right,
            steps,
            plan.blocks,
            lambda blocks: _undecided(blocks, plan),
            lambda done: progress("timing, blocks a side", done, plan.blocks),
        )
        if right.traces() != traces:
            raise RuntimeError("a tf.function was traced inside a timed block; the times mean nothing")
    result.ratio = timing.ratio(result.blocks)
    result.verdict = timing.verdict(result.ratio)
    return result


def _undecided(blocks, plan):
    return len(blocks.left) < plan.most_blocks and timing.verdict(timing.ratio(blocks)) == "undecided"


def _check(setup, plan, progress):
    """`Verification` of the programs as they will be timed, kernels and all."""
    with setup.legacy_program() as left, setup.modern_program() as right, setup.closing_noise_floor() as floor:
        return verify(
            left,
            right,
            setup.job,
            plan.parity_steps,
            "locked",
            "auto",
            None,
            floor,
            lambda done, _: progress("parity", done, plan.parity_steps),
            tolerance.keras_units(setup.job.workload.optimizer, setup.modern.update_rules),
        )


def _warm_up(program, steps):
    start = time.perf_counter()
    program.run(steps)
    return time.perf_counter() - start


def best_input(setup, progress, steps=40):
    """`setup` with the towers' fastest way to get batches, and {way: seconds a step}."""
    trials = {}
    for index, way in enumerate(CANDIDATES):
        progress("legacy's input: " + way, index, len(CANDIDATES))
        with with_input(setup, way).legacy_program() as program:
            program.run(10)
            trials[way] = min(_warm_up(program, steps) for _ in range(3)) / steps
    best = min(trials, key=trials.get)
    return with_input(setup, best), trials


def with_input(setup, way):
    """`setup` with the towers fed another way."""
    return dataclasses.replace(setup, legacy=dataclasses.replace(setup.legacy, input=way))
