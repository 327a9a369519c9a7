"""`python -m parity.placement --workload=stacked_lstm --layer_devices=3 --micro_batches=4`: layers on several devices.

Runs the model with its layers divided among devices, the old way and the new way; compares both with each other and
with one device running the same micro-batches; and shows, from a trace of each, which bytes cross between devices in a
step and how busy each device is. Exit status 0: identical bits; 1: not.
"""

from __future__ import annotations

import contextlib
import dataclasses
import statistics

from absl import flags

from parity import flags as parity_flags
from workloads.selection import flags as job_flags  # noqa: F401
from workloads.support import command, environment
from workloads.support.errors import require

flags.DEFINE_integer("steps", 20, "Steps to compare.")
flags.DEFINE_integer("trace_steps", 5, "Steps to trace; the median of each figure is shown.")

FLAGS = flags.FLAGS
FLAGS.set_default("placement", "layers")
FLAGS.set_default("workload", "stacked_lstm")


def compare(setup, steps):
    """{what: `Verification`}: the port's stages against the towers', and each against one device of its kind."""
    from parity.comparison.verification import verify

    one = dataclasses.replace(setup, layer_devices=1)
    several = f"{setup.layer_devices} devices"
    pairs = {
        f"legacy | modern, {several}": (setup.legacy_program, setup.modern_program),
        f"legacy, {several} | one device": (setup.legacy_program, one.legacy_program),
        f"modern, {several} | one device": (setup.modern_program, one.modern_program),
    }
    found = {}
    for what, (left, right) in pairs.items():
        with left() as first, right() as second:
            found[what] = verify(first, second, setup.job, steps)
    return found


def trace(setup, repeats):
    """{side: list of `DeviceTrace`} of as many steps."""
    from parity.speed import device_trace

    traces = {}
    with contextlib.ExitStack() as stack:
        legacy = stack.enter_context(setup.legacy_program())
        legacy.run(3)
        traces["legacy"] = [device_trace.of_session(legacy) for _ in range(repeats)]
    for _ in range(repeats):
        with setup.modern_program() as modern:
            traces.setdefault("modern", []).append(device_trace.of_function(modern))
    return traces


def rows(traces):
    """The table's rows: one a side and device, medians over the traces."""
    made = []
    for side, found in traces.items():
        for device in sorted(found[0].busy):
            out = [sum(size for (start, _), size in one.crossing.items() if start == device) for one in found]
            into = [sum(size for (_, end), size in one.crossing.items() if end == device) for one in found]
            busy = [one.busy.get(device, 0.0) / one.seconds for one in found]
            made.append(
                {
                    "side": side,
                    "device": device,
                    "out": statistics.median_high(out),
                    "in": statistics.median_high(into),
                    "busy": statistics.median_high(busy),
                }
            )
    return made


def show(setup, found, traces, console):
    """Prints verdicts and table."""
    from rich.table import Table

    from parity.reports import tables

    job = setup.job
    console.print(
        f"{job.workload.name}: layers on {setup.layer_devices} devices, {job.replicas} micro-batches of {job.per_replica_batch}",
        style="bold",
    )
    for what, verification in found.items():
        console.print(f"{what}: {tables.verdict_line(verification)}", highlight=False)
    table = Table(title="one step, from a trace; bytes that cross between devices", title_justify="left")
    for column in ("side", "device", "bytes out", "bytes in", "busy"):
        table.add_column(column, justify="left" if column in ("side", "device") else "right")
    for row in rows(traces):
        table.add_row(
            row["side"],
            row["device"],
            "{:,}".format(row["out"]),
            "{:,}".format(row["in"]),
            "{:.0%}".format(row["busy"]),
        )
    console.print(table)


def main():
    require(FLAGS.steps >= 1, "--steps", FLAGS.steps, "must be at least 1")
    require(FLAGS.trace_steps >= 1, "--trace_steps", FLAGS.trace_steps, "must be at least 1")
    require(FLAGS.placement == "layers", "--placement", FLAGS.placement, "here: layers")
    environment.prepare(exact=True)
    from parity.reports import tables

    setup = parity_flags.setup_from_flags(exact=True)
    found = compare(setup, FLAGS.steps)
    traces = trace(setup, FLAGS.trace_steps)
    show(setup, found, traces, tables.console())
    passed = all(verification.passed for verification in found.values())
    comparisons = {what: verification.to_json() for what, verification in found.items()}
    command.write_json({"passed": passed, "devices": rows(traces), "comparisons": comparisons})
    return 0 if passed else 1


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
