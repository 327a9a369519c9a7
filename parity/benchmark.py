"""`python -m parity.benchmark --workload=regression --steps_per_call=10`: measures the speed of port and towers.

Legacy, the port, and the port on one device without a strategy, each with resident and with streamed batches, are timed
in the same rounds of one process, each block ending when its last loss is read. Parity of the programs that are timed
is checked first; without it no speed is reported. Speeds are relative to the port's with the same input, in the median,
with a 95 % interval. Exit status 0: measured; 1: no parity; 2: input that cannot be used; 130: Ctrl-C, which while
blocks are timed ends with a partial report.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from absl import flags

from legacy import flags as legacy_flags
from modern import flags as modern_flags
from parity import flags as parity_flags
from parity import report_flags
from parity.processes.interruption import interruptible
from parity.speed.names import INPUTS, LEGACY_INPUTS, RESIDENT, STREAMED
from workloads.selection import flags as job_flags
from workloads.support.command_line import command
from workloads.support.errors import require
from workloads.support.machine import environment
from workloads.support.wording import counted

if TYPE_CHECKING:
    from parity.comparison.setup import Setup
    from parity.speed.measurement import MeasurementPlan
    from parity.speed.speed_result import SpeedResult

flags.DEFINE_integer("warmup", 20, "Steps of each program before the clock starts.", lower_bound=1)
flags.DEFINE_integer("blocks", 20, "Timed blocks per program; an even number, at least 10.", lower_bound=10)
flags.DEFINE_integer("most_blocks", 64, "Blocks per program at most, while a verdict is undecided.", lower_bound=10)
flags.DEFINE_float("block_seconds", 0.25, "Approximate length of a block, in seconds.", lower_bound=0.01)
flags.DEFINE_integer("parity_steps", 5, "Steps compared before the clock starts.", lower_bound=1)
flags.DEFINE_list(
    "inputs",
    list(INPUTS),
    "resident: the first batch, which stays on the devices, so that input costs nothing; streamed: new batches at "
    "every step, through tf.data and through the towers' fastest input (or --legacy_input). Files are streamed.",
)
flags.DEFINE_boolean("stream", False, "The same as --inputs=streamed.")
flags.DEFINE_list(
    "tried_inputs",
    list(LEGACY_INPUTS),
    "Ways of the towers to get streamed batches, which are timed first; the fastest is taken.",
)
flags.DEFINE_multi_string(
    "others",
    [],
    "Executable files, separated by commas, that are timed in the same rounds: ports of your own in any framework. "
    "They answer lines on a pipe: hello, run N, quit; see docs/speed.md.",
)
flags.DEFINE_float(
    "others_seconds", 120.0, "Seconds that a program of --others may take to answer a line.", lower_bound=0.01
)
flags.DEFINE_boolean(
    "all_cores",
    True,
    "Where replicas share the cores, try the port on one device with all of them too, in a process of its own.",
)
flags.DEFINE_boolean("memory", True, "Measure each side's peak memory, in a process of its own.")
report_flags.define_report(flags.FLAGS)

FLAGS = flags.FLAGS

#: {side: bytes}; None where the process failed.
PeakBytes = Mapping[str, "int | None"]


def inputs_from_flags() -> list[str]:
    """Returns the kinds of input to measure, the main one first.

    Raises:
      InputError: flags contradict each other.
    """
    given = list(dict.fromkeys(FLAGS.inputs))
    allowed = f"allowed: {', '.join(INPUTS)}, or both"
    require(given and set(given) <= set(INPUTS), "--inputs", ",".join(FLAGS.inputs), allowed)
    asked = FLAGS["inputs"].present
    require(not (FLAGS.stream and FLAGS.resident), "--resident", FLAGS.resident, "not with --stream")
    files = "--data_dir" if FLAGS.data_dir is not None else "--data" if FLAGS.data is not None else ""
    for flag, is_set, only in (("--stream", FLAGS.stream, STREAMED), ("--resident", FLAGS.resident, RESIDENT)):
        require(not is_set or not asked or given == [only], "--inputs", ",".join(given), f"with {flag}: {only}")
        given = [only] if is_set else given
    if files:
        require(not (asked or FLAGS.resident) or given == [STREAMED], files, FLAGS[files[2:]].value, "is streamed only")
        given = [STREAMED]
    return [name for name in INPUTS if name in given]


def plan_from_flags(workload_name: str | None = None) -> tuple[dict[str, Setup], MeasurementPlan]:
    """Returns the setup of each input, and the plan of the measurement, that the flags describe.

    Args:
      workload_name: used instead of `--workload` if given.
    """
    from parity.speed.measurement import MeasurementPlan

    require(FLAGS.most_blocks >= FLAGS.blocks, "--most_blocks", FLAGS.most_blocks, "must not be below --blocks")
    setups = {
        name: parity_flags.setup_from_flags(exact=False, workload_name=workload_name, resident=name == RESIDENT)
        for name in inputs_from_flags()
    }
    lifted = any(setup.job.workload.is_lifted for setup in setups.values())  # its old graph can only be fed
    tunes = STREAMED in setups and not lifted and not FLAGS["legacy_input"].present
    unknown = set(FLAGS.tried_inputs) - set(LEGACY_INPUTS)
    allowed = f"allowed: {', '.join(LEGACY_INPUTS)}"
    require(FLAGS.tried_inputs and not unknown, "--tried_inputs", ",".join(FLAGS.tried_inputs), allowed)
    tried = tuple(FLAGS.tried_inputs) if tunes else ()
    plan = MeasurementPlan(
        FLAGS.warmup,
        FLAGS.blocks,
        FLAGS.most_blocks,
        FLAGS.block_seconds,
        FLAGS.parity_steps,
        tried,
        FLAGS.all_cores,
    )
    return setups, plan


def run_benchmark(setups: Mapping[str, Setup], plan: MeasurementPlan) -> SpeedResult:
    """Measures the speed of all programs, and shows the progress on stderr."""
    from parity.processes.turns import own_turns
    from parity.speed.measurement import measure_speed
    from parity.speed.other_program import enter_others
    from workloads.progress.progress import Progress

    name = next(iter(setups.values())).job.workload.name
    progress = Progress("benchmark " + name, unit=None)
    progress.stage("building the programs")
    with contextlib.ExitStack() as stack, interruptible() as interruption:
        others = enter_others(stack, other_paths(), setups, FLAGS.size, FLAGS.others_seconds)

        def show(text: str, done: int, total: int) -> None:
            progress.update(done, max(done, total), text)

        result = measure_speed(setups, plan, show, others, interruption, own_turns().alone)
    progress.done()
    return result


def other_paths() -> list[str]:
    """Returns the paths that `--others` names.

    Raises:
      InputError: one is no file that can be executed.
    """
    from parity.processes.line_process import check_executable

    paths = [path for text in FLAGS.others for path in text.split(",")]
    for path in paths:
        check_executable("--others", path)
    return paths


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

    if not FLAGS.memory or not result.has_parity:
        return {}
    resident = str(result.setup.job.data == "resident").lower()
    job = flag_arguments(FLAGS, [job_flags.__name__], without=("workload", "resident"))
    job += [f"--workload={workload_name}", f"--resident={resident}"]
    towers = flag_arguments(FLAGS, [legacy_flags.__name__], without=("legacy_input",))
    towers.append("--legacy_input=" + result.setup.legacy.input)
    port = flag_arguments(FLAGS, [modern_flags.__name__])
    steps = 2 * FLAGS.steps_per_call
    flags_of_sides = {"legacy": job + towers, "modern": job + port}
    with concurrent.futures.ThreadPoolExecutor() as pool:  # at the same time: nothing is timed there
        measured = {
            side: pool.submit(measure_peak_memory, side, arguments, steps) for side, arguments in flags_of_sides.items()
        }
    return {side: future.result() for side, future in measured.items()}


def benchmark_json(result: SpeedResult, peak_bytes: PeakBytes) -> dict[str, Any]:
    """Returns the whole result for `--json`, with the flags that were given."""
    from parity.reports.speed_json import speed_json

    given = {name: FLAGS[name].value for name in FLAGS if FLAGS[name].present}
    return {**speed_json(result, peak_bytes, FLAGS.warmup), "environment": environment.describe(), "flags": given}


def main() -> int:
    """Runs the command; returns its exit status."""
    other_paths()
    report_flags.check_report(FLAGS)
    environment.prepare(exact=False)
    from parity.reports.formatting import make_console
    from parity.reports.speed_table import speed_table
    from parity.reports.speed_text import result_lines

    result = run_benchmark(*plan_from_flags())
    peak_bytes = {} if result.partial else peak_bytes_if_asked(result, FLAGS.workload)
    print(f"{result.setup.job.workload.name}: job {result.setup.job.digest()}")
    lines = list(result_lines(result, peak_bytes, FLAGS.warmup))
    lines += ["interrupted: fewer blocks than asked for, and no peak memory"] if result.partial else []
    for line in lines:
        print(line)
    content = benchmark_json(result, peak_bytes)
    if result.has_parity:
        make_console().print(speed_table(content))
    command.write_json(content)
    report_flags.write_report(lambda: _html_page(result, lines, content), FLAGS)
    if result.partial:
        raise KeyboardInterrupt
    return 0 if result.has_parity else 1


def _html_page(result: SpeedResult, lines: list[str], content: Mapping[str, Any]) -> str:
    from parity.html.speed_page import speed_page

    job = result.setup.job
    return speed_page(
        f"{job.workload.name}: {counted(job.replicas, 'replica')}, global batch {job.global_batch}", lines, content
    )


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
