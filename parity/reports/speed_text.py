"""Result of a speed measurement in lines: each program, and the verdicts on the port and legacy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from parity.reports.verification_text import verification_verdict
from parity.speed.names import LEGACY, MODERN, ONE_DEVICE
from parity.speed.ratio import interval_text, ratio_text
from parity.speed.speed_result import Contestant, SpeedResult


def result_lines(result: SpeedResult, peak_bytes: Mapping[str, int | None], warmup: int) -> Iterator[str]:
    """Yields the result for people, line by line.

    Args:
      result: the measurement.
      peak_bytes: {side: bytes}; empty if not measured.
      warmup: steps of each program before the clock started.

    Yields:
      a line for each program, and one for each input's ratio of the port and legacy; one line without parity.
    """
    if not result.has_parity:
        yield verification_verdict(result.verification) + ": no speed is shown for programs that are not equal"
        return
    main_input = next(iter(result.setups))
    for contestant in result.contestants:
        peak = peak_bytes.get(contestant.name) if contestant.input == main_input else None
        yield _contestant_line(result, contestant, peak, warmup)
    for input_name in result.setups:
        yield _verdict_line(result, input_name)


def _contestant_line(result: SpeedResult, contestant: Contestant, peak_bytes: int | None, warmup: int) -> str:
    """The speed of one program."""
    start = f"{contestant.name:10} {contestant.input:8} "
    if not contestant.seconds:
        return f"{start} not timed: {contestant.problem or contestant.note}"
    job = result.setup.job
    examples_per_second, spread = contestant.throughput()
    peak = f"  peak {peak_bytes / 2**20:.0f} MiB" if peak_bytes else ""
    ratio = result.ratio_to(MODERN, contestant)
    beside = f"  {ratio_text(ratio, 3)} of the port's speed" if ratio else ""
    shared = f"replicas={job.replicas} batch={job.global_batch} ({job.per_replica_batch} a replica) "
    own = {LEGACY: shared, MODERN: shared, ONE_DEVICE: f"batch={job.global_batch} "}
    return (
        f"{start}{own.get(contestant.name, f'batch={contestant.examples:g} ')}"
        f"warmup={warmup} steps, {contestant.startup:.1f} s "
        f"blocks={len(contestant.seconds)}x{contestant.steps}  {examples_per_second:.1f} examples/s  "
        f"median, MAD {100 * spread:.1f} %{'' if contestant.name == MODERN else beside}{peak}"
        f"{'  (' + contestant.note + ')' if contestant.note else ''}"
    )


def _verdict_line(result: SpeedResult, input_name: str) -> str:
    """The ratio of the port and legacy with one input, and its verdict."""
    ratio = result.port_to_legacy(input_name)
    left, right = result.contestant(LEGACY, input_name), result.contestant(MODERN, input_name)
    assert ratio is not None and left is not None and right is not None
    return (
        f"modern/legacy {input_name} {ratio.median:.3f}  95 % {interval_text(ratio, 3)}  "
        f"{result.verdict(input_name)} (margin 5 %, higher is better); "
        f"input: {left.settings['input']}, {right.settings['input']}; reduction: {right.settings['reduction']}"
    )
