"""`python -m parity.benchmark --workload=regression --steps_per_call=10`: measures the speed of port and towers.

Both programs run in one process and are timed in interleaved blocks A B B A, each of which ends when its last loss is
read. Parity of the programs that are timed is checked first; without it no speed is reported. Exit status 0: measured;
1: no parity; 2: input that cannot be used.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from absl import flags

from legacy import flags as legacy_flags
from modern import flags as modern_flags
from parity import flags as parity_flags
from workloads.selection import flags as job_flags
from workloads.support import command, environment
from workloads.support.errors import require

if TYPE_CHECKING:
    from parity.comparison.setup import Setup
    from parity.speed.measurement import MeasurementPlan, SpeedResult

flags.DEFINE_integer("warmup", 20, "Steps of each side before the clock starts.", lower_bound=1)
flags.DEFINE_integer("blocks", 20, "Timed blocks per side; an even number, at least 10.", lower_bound=10)
flags.DEFINE_integer("most_blocks", 64, "Blocks per side at most, while the verdict is undecided.", lower_bound=10)
flags.DEFINE_float("block_seconds", 0.25, "Approximate length of a block, in seconds.", lower_bound=0.01)
flags.DEFINE_integer("parity_steps", 5, "Steps compared before the clock starts.", lower_bound=1)
flags.DEFINE_boolean(
    "stream",
    False,
    "New batches at every step, through tf.data and through the towers' fastest input (or --legacy_input). Default: "
    "the first batch, resident on the devices.",
)
flags.DEFINE_boolean("memory", True, "Measure each side's peak memory, in a process of its own.")

FLAGS = flags.FLAGS

#: {side: the key of that side in a `SpeedResult`}.
SIDES = {"legacy": "left", "modern": "right"}

#: {side: bytes}; None where the process failed.
PeakBytes = Mapping[str, "int | None"]


def plan_from_flags(workload_name: str | None = None) -> tuple[Setup, MeasurementPlan]:
    """Returns what the flags describe: the setup, and the plan of the measurement.

    Batches are resident unless they come from files or `--stream` is given.

    Args:
      workload_name: used instead of `--workload` if given.
    """
    from parity.speed.measurement import MeasurementPlan

    require(FLAGS.most_blocks >= FLAGS.blocks, "--most_blocks", FLAGS.most_blocks, "must not be below --blocks")
    streams = FLAGS.stream or FLAGS.data_dir is not None or FLAGS.data is not None
    setup = parity_flags.setup_from_flags(exact=False, workload_name=workload_name, resident=not streams)
    lifted = setup.job.workload.is_lifted  # its old graph can only be fed
    tune_input = streams and not lifted and not FLAGS["legacy_input"].present
    plan = MeasurementPlan(
        FLAGS.warmup, FLAGS.blocks, FLAGS.most_blocks, FLAGS.block_seconds, FLAGS.parity_steps, tune_input
    )
    return setup, plan


def run_benchmark(setup: Setup, plan: MeasurementPlan) -> SpeedResult:
    """Measures the speed of both sides, and shows the progress on stderr."""
    from parity.reports.progress import Progress
    from parity.speed.measurement import measure_speed

    progress = Progress("benchmark " + setup.job.workload.name)
    result = measure_speed(setup, plan, lambda text, done, total: progress.update(done, total, text))
    progress.done()
    return result


def peak_bytes_if_asked(result: SpeedResult, workload_name: str) -> PeakBytes:
    """Returns each side's peak memory, from a process of its own that trains a few steps.

    Args:
      result: the measurement, whose input the towers' process uses too.
      workload_name: value of `--workload` for the processes.

    Returns:
      {side: bytes}; empty with `--nomemory` or without parity.
    """
    from parity.processes.child_command import flag_arguments
    from parity.speed.peak_memory import measure_peak_memory

    if not FLAGS.memory or result.ratio is None:
        return {}
    resident = str(result.setup.job.data == "resident").lower()
    job = flag_arguments(FLAGS, [job_flags.__name__], without=("workload", "resident"))
    job += [f"--workload={workload_name}", f"--resident={resident}"]
    towers = flag_arguments(FLAGS, [legacy_flags.__name__], without=("legacy_input",))
    towers.append("--legacy_input=" + result.setup.legacy.input)
    port = flag_arguments(FLAGS, [modern_flags.__name__])
    steps = 2 * FLAGS.steps_per_call
    flags_of_sides = {"legacy": job + towers, "modern": job + port}
    return {side: measure_peak_memory(side, arguments, steps) for side, arguments in flags_of_sides.items()}


def result_lines(result: SpeedResult, peak_bytes: PeakBytes) -> Iterator[str]:
    """Yields the result for people, line by line."""
    if result.ratio is None:
        from parity.reports.verification_text import verification_verdict

        yield verification_verdict(result.verification) + ": no speed is shown for programs that are not equal"
        return
    for side in SIDES:
        yield _side_line(result, side, peak_bytes.get(side))
    ratio, left, right = result.ratio, result.settings["left"], result.settings["right"]
    yield (
        f"modern/legacy {ratio.median:.3f}  95 % [{ratio.low:.3f}, {ratio.high:.3f}]  {result.verdict} "
        f"(margin 5 %, higher is better); input: {left['input']}, {right['input']}; reduction: {right['reduction']}"
    )


def _side_line(result: SpeedResult, side: str, peak_bytes: int | None) -> str:
    """The speed of one side, "legacy" or "modern"."""
    job, key = result.setup.job, SIDES[side]
    examples_per_second, spread = result.examples_per_second(job.global_batch)[key]
    peak = f"  peak {peak_bytes / 2**20:.0f} MiB" if peak_bytes else ""
    return (
        f"{side:7} replicas={job.replicas} batch={job.global_batch} ({job.per_replica_batch} a replica) "
        f"warmup={FLAGS.warmup} steps, {result.startup[key]:.1f} s "
        f"blocks={len(result.blocks.left)}x{result.blocks.steps}  {examples_per_second:.1f} examples/s  "
        f"median, MAD {100 * spread:.1f} %{peak}"
    )


def benchmark_json(result: SpeedResult, peak_bytes: PeakBytes) -> dict[str, Any]:
    """Returns the whole result for `--json`."""
    job = result.setup.job
    content: dict[str, Any] = {
        "workload": job.workload.name,
        "job": job.describe(),
        "job_digest": job.digest(),
        "verdict": result.verdict,
        "parity": result.verification.to_json(),
        "settings": {"legacy": result.settings["left"], "modern": result.settings["right"]},
        "environment": environment.describe(),
        "legacy_input_trials_seconds": result.input_trials,
        "flags": {name: FLAGS[name].value for name in FLAGS if FLAGS[name].present},
    }
    if result.ratio is not None:
        speeds = result.examples_per_second(job.global_batch)
        content.update(
            ratio=dataclasses.asdict(result.ratio),
            examples_per_second={side: speeds[key][0] for side, key in SIDES.items()},
            steps_per_block=result.blocks.steps,
            block_seconds={"legacy": result.blocks.left, "modern": result.blocks.right},
            warmup_steps=FLAGS.warmup,
            warmup_seconds={side: result.startup[key] for side, key in SIDES.items()},
            peak_bytes=peak_bytes,
            traces_in_timed_blocks=0,
        )
    return content


def main() -> int:
    """Runs the command; returns its exit status."""
    environment.prepare(exact=False)
    result = run_benchmark(*plan_from_flags())
    peak_bytes = peak_bytes_if_asked(result, FLAGS.workload)
    print(f"{result.setup.job.workload.name}: job {result.setup.job.digest()}")
    for line in result_lines(result, peak_bytes):
        print(line)
    command.write_json(benchmark_json(result, peak_bytes))
    return 0 if result.ratio is not None else 1


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
