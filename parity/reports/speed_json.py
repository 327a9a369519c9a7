"""Result of a speed measurement as JSON: both sides, every program, and the ratios of their speeds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parity.speed.names import LEGACY, MODERN
from parity.speed.ratio import ratio_json
from parity.speed.speed_result import Contestant, SpeedResult


def speed_json(result: SpeedResult, peak_bytes: Mapping[str, int | None], warmup: int) -> dict[str, Any]:
    """Returns a measurement for `--json`.

    Figures of the two sides outside of "contestants" are those with the first input, which "input" names.

    Args:
      result: the measurement.
      peak_bytes: {side: bytes}; empty if not measured.
      warmup: steps of each program before the clock started.

    Returns:
      {key: value} of numbers, texts, lists and dictionaries.
    """
    job, main_input = result.setup.job, next(iter(result.setups))
    sides = {c.name: c for c in result.contestants if c.input == main_input and c.name in (LEGACY, MODERN)}
    content: dict[str, Any] = {
        "workload": job.workload.name,
        "job": job.describe(),
        "job_digest": job.digest(),
        "input": main_input,
        "verdict": result.verdict(main_input),
        "partial": result.partial,
        "parity": result.verification.to_json(),
        "settings": {name: side.settings for name, side in sides.items()},
        "legacy_input_trials_seconds": result.input_trials,
        "contestants": [_contestant_json(result, contestant) for contestant in result.contestants],
    }
    if result.has_parity:
        content.update(
            ratio=ratio_json(result.port_to_legacy(main_input)),
            ratios={name: ratio_json(result.port_to_legacy(name)) for name in result.setups},
            verdicts={name: result.verdict(name) for name in result.setups},
            examples_per_second={name: side.throughput().median for name, side in sides.items()},
            steps_per_block=sides[MODERN].steps,
            block_seconds={name: side.seconds for name, side in sides.items()},
            warmup_steps=warmup,
            warmup_seconds={name: side.startup for name, side in sides.items()},
            peak_bytes=peak_bytes,
            traces_in_timed_blocks=0,
        )
    return content


def _contestant_json(result: SpeedResult, contestant: Contestant) -> dict[str, Any]:
    """Returns the entry of one program; "ratio" is its speed relative to the port's with the same input."""
    content: dict[str, Any] = {
        "name": contestant.name,
        "input": contestant.input,
        "examples_per_step": contestant.examples,
        "settings": contestant.settings,
        "note": contestant.note,
        "problem": contestant.problem,
        "parity": None if contestant.verification is None else contestant.verification.verdict.value,
    }
    if contestant.seconds:
        throughput = contestant.throughput()
        content.update(
            examples_per_second=throughput.median,
            relative_mad=throughput.relative_mad,
            ratio=ratio_json(result.ratio_to(MODERN, contestant)),
            steps_per_block=contestant.steps,
            block_seconds=contestant.seconds,
            warmup_seconds=contestant.startup,
        )
    return content
