"""`python -m parity.placement --layer_devices=3 --micro_batches=4`: compares model-parallel runs.

Runs the model with its layers divided among devices, the old way and the new way; compares both with each other and
with one device running the same micro-batches; and reports, from a trace of each, the bytes that cross between devices
in a step and how busy each device is. Exit status 0: identical bits; 1: not.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from absl import flags

from parity import flags as parity_flags
from workloads.selection import flags as job_flags  # noqa: F401
from workloads.support.command_line import command
from workloads.support.errors import require
from workloads.support.machine import environment
from workloads.support.wording import counted

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from parity.comparison.result import Verification
    from parity.comparison.setup import Setup
    from parity.profiling.device_trace import DeviceTrace
    from workloads.program import Program

flags.DEFINE_integer("steps", 20, "Number of steps to compare.")
flags.DEFINE_integer("trace_steps", 5, "Number of steps to trace; the median of each figure is reported.")

FLAGS = flags.FLAGS
FLAGS.set_default("placement", "layers")
FLAGS.set_default("workload", "stacked_lstm")

#: Steps that the towers take before they are traced.
WARM_UP = 3


class DeviceTraffic(NamedTuple):
    """Traffic of one device in one step, as medians over the traced steps.

    Attributes:
      side: "legacy" or "modern".
      device: such as "CPU:1".
      bytes_out: bytes that the device sends to others.
      bytes_in: bytes that it receives.
      busy: fraction of the step in which it runs at least one op.
    """

    side: str
    device: str
    bytes_out: int
    bytes_in: int
    busy: float

    def to_json(self) -> dict[str, Any]:
        """Returns the row for `--json`."""
        return dict(zip(("side", "device", "out", "in", "busy"), self))


def compare_placements(setup: Setup, steps: int) -> dict[str, Verification]:
    """Compares the port's pipeline stages with the towers', and each with one device of its kind.

    Returns:
      {description of the two programs: `Verification`}.
    """
    from parity.comparison.runs.verification import verify

    one = dataclasses.replace(setup, layer_devices=1)
    several = f"{setup.layer_devices} devices"
    compared: dict[str, tuple[Callable[[], Program], Callable[[], Program]]] = {
        f"legacy | modern, {several}": (setup.legacy_program, setup.modern_program),
        f"legacy, {several} | one device": (setup.legacy_program, one.legacy_program),
        f"modern, {several} | one device": (setup.modern_program, one.modern_program),
    }
    verifications = {}
    for description, (make_left, make_right) in compared.items():
        with make_left() as left, make_right() as right:
            verifications[description] = verify(left, right, setup.job, steps)
    return verifications


def trace_both_sides(setup: Setup, repeats: int) -> dict[str, list[DeviceTrace]]:
    """Traces `repeats` steps of each side; returns {side: traces}."""
    from legacy.towers.program import LegacyProgram
    from modern.model_parallel.program import PipelineProgram
    from parity.profiling import device_trace

    with setup.legacy_program() as legacy:
        legacy.run(WARM_UP)
        towers = [device_trace.trace_session(cast(LegacyProgram, legacy)) for _ in range(repeats)]
    port = []
    for _ in range(repeats):  # the partitions of a function can be read at its first run only
        with setup.modern_program() as modern:
            port.append(device_trace.trace_function(cast(PipelineProgram, modern)))
    return {"legacy": towers, "modern": port}


def device_traffic(traces: Mapping[str, Sequence[DeviceTrace]]) -> list[DeviceTraffic]:
    """Returns the traffic of each side's devices, from {side: traces of the same step}."""
    return [
        _traffic_of_device(side, device, of_side)
        for side, of_side in traces.items()
        for device in sorted(of_side[0].busy)
    ]


def _traffic_of_device(side: str, device: str, traces: Sequence[DeviceTrace]) -> DeviceTraffic:
    sent = [sum(size for (start, _), size in trace.crossing.items() if start == device) for trace in traces]
    received = [sum(size for (_, end), size in trace.crossing.items() if end == device) for trace in traces]
    busy = [trace.busy.get(device, 0.0) / trace.seconds for trace in traces]
    median = statistics.median_high
    return DeviceTraffic(side, device, median(sent), median(received), median(busy))


def traffic_table(rows: Sequence[DeviceTraffic]) -> Table:
    """Returns the table of all devices' traffic."""
    from rich.table import Table

    table = Table(title="one step, from a trace; bytes that cross between devices", title_justify="left")
    for column in ("side", "device", "bytes out", "bytes in", "busy"):
        table.add_column(column, justify="left" if column in ("side", "device") else "right")
    for row in rows:
        table.add_row(row.side, row.device, f"{row.bytes_out:,}", f"{row.bytes_in:,}", f"{row.busy:.0%}")
    return table


def print_report(
    console: Console, setup: Setup, verifications: Mapping[str, Verification], rows: Sequence[DeviceTraffic]
) -> None:
    """Prints the verdicts and the table of traffic.

    Args:
      console: where to print.
      setup: the job and its devices.
      verifications: {description of the two programs: `Verification`}.
      rows: one per side and device.
    """
    from parity.reports.verification_text import verification_verdict

    job = setup.job
    console.print(
        f"{job.workload.name}: layers on {counted(setup.layer_devices, 'device')}, "
        f"{counted(job.replicas, 'micro-batch', 'micro-batches')} of {job.per_replica_batch}",
        style="bold",
    )
    for description, verification in verifications.items():
        console.print(f"{description}: {verification_verdict(verification)}", highlight=False)
    console.print(traffic_table(rows))


def check_flags() -> None:
    """Raises `InputError` for flags that can be refused before TensorFlow is started."""
    require(FLAGS.steps >= 1, "--steps", FLAGS.steps, "must be at least 1")
    require(FLAGS.trace_steps >= 1, "--trace_steps", FLAGS.trace_steps, "must be at least 1")
    require(FLAGS.placement == "layers", "--placement", FLAGS.placement, "here: layers")


def main() -> int:
    """Runs the command; returns its exit status."""
    check_flags()
    environment.prepare(exact=True)
    from parity.reports.formatting import make_console

    setup = parity_flags.setup_from_flags(exact=True)
    verifications = compare_placements(setup, FLAGS.steps)
    rows = device_traffic(trace_both_sides(setup, FLAGS.trace_steps))
    print_report(make_console(), setup, verifications, rows)
    passed = all(verification.passed for verification in verifications.values())
    comparisons = {description: verification.to_json() for description, verification in verifications.items()}
    command.write_json({"passed": passed, "devices": [row.to_json() for row in rows], "comparisons": comparisons})
    return 0 if passed else 1


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
