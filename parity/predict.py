"""`python -m parity.predict --workload=regression --devices=v100x8`: predicts both sides on devices that are not here.

Builds the towers' graph and the port's as they would run on those devices, prices each op by TensorFlow's cost model
(Grappler's) and the devices' numbers, and schedules ops, copies and all-reduces: the step time, how each device spends
it, examples per second against the number of replicas, which resource binds, and what would help. Beside it stands the
error of the same prediction for the CPU of this machine, whose step is measured (docs/predict.md). `--validate` does
only that: five workloads, several replicas and alternatives. Exit status 0: predicted; 2: input that cannot be used.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import TYPE_CHECKING, Any

from absl import flags

from parity import flags as parity_flags
from workloads.selection import flags as job_flags  # noqa: F401
from workloads.selection import registry
from workloads.support.command_line import command
from workloads.support.errors import require
from workloads.support.files import json_file
from workloads.support.machine import environment
from workloads.support.wording import counted

if TYPE_CHECKING:
    from parity.comparison.setup import Setup
    from parity.prediction.machines.machine import Machine
    from parity.prediction.prediction import Prediction
    from parity.prediction.this_machine.measured_step import MeasuredStep
    from workloads.progress.progress import Progress

SIDES = ("legacy", "modern")
SCALINGS = ("weak", "strong")

#: Replicas of `--validate` at most.
MOST_REPLICAS = 8

flags.DEFINE_string(
    "devices",
    "gtx1060x2",
    "The devices: gtx1060, gtx1080ti, k80, p100, v100 or h100, each with their number, such as v100x8; a JSON file "
    "that describes a machine (docs/predict.md); or cpu, this machine's.",
)
flags.DEFINE_list("sides", list(SIDES), "Sides to predict.")
flags.DEFINE_enum(
    "scaling",
    "weak",
    SCALINGS,
    "Examples a second against replicas: weak: each replica keeps its batch; strong: the global batch is kept.",
)

flags.DEFINE_boolean(
    "calibrate", True, "Measure this CPU, and a step on it, to say how far the prediction for it is off (a minute)."
)
flags.DEFINE_boolean("validate", False, "Only predict and measure: all workloads, 1, 2 and 4 replicas, on this CPU.")
flags.DEFINE_list("workloads", list(registry.NAMES), "With --validate: names of the workloads.")
flags.DEFINE_list("replica_counts", ["1", "2", "4"], "With --validate: numbers of replicas.")
flags.DEFINE_float("block_seconds", 0.2, "Approximate length of a timed block, in seconds.", lower_bound=0.01)
flags.DEFINE_integer("rounds", None, "Timed rounds; an even number. (6; with --validate 12)", lower_bound=2)

flags.DEFINE_string(
    "scaling_page", None, "Only write this page (Markdown): 8 to 1,024 replicas, on clusters of --clusters."
)
flags.DEFINE_list("clusters", ["p100x8", "v100x8", "h100x8"], "With --scaling_page: the machines of a cluster.")

FLAGS = flags.FLAGS
FLAGS.set_default("size", "seed")
FLAGS.set_default("all_reduce", "auto")
FLAGS.set_default("logical_cpus", 9)  # the host, and a stand-in for each of eight devices


def check_flags() -> None:
    """Raises `InputError` for flags that can be refused before TensorFlow is started."""
    command.require_each(FLAGS.sides, list(SIDES), "--sides")
    require(FLAGS.sides, "--sides", FLAGS.sides, "at least one of " + ", ".join(SIDES))
    require(timed_rounds() % 2 == 0, "--rounds", FLAGS.rounds, "must be even")
    command.require_each(FLAGS.workloads, list(registry.NAMES), "--workloads")
    counts = all(count.isdecimal() and 1 <= int(count) <= MOST_REPLICAS for count in FLAGS.replica_counts)
    require(counts and FLAGS.replica_counts, "--replica_counts", FLAGS.replica_counts, f"1 to {MOST_REPLICAS} each")
    parity_flags.check_mirrored_towers(FLAGS)


def replica_counts(setup: Setup, machine: Machine) -> list[int]:
    """Returns the numbers of replicas to predict: 1, 2, 4, ... and the job's; a lift has its towers only."""
    replicas = setup.job.replicas
    if setup.job.workload.is_lifted:
        return [replicas]
    counts = {1 << power for power in range(machine.count.bit_length()) if 1 << power <= machine.count}
    if FLAGS.scaling == "strong":
        counts = {count for count in counts if setup.job.global_batch % count == 0}
    return sorted(counts | {replicas})


def with_replicas(setup: Setup, replicas: int, scaling: str) -> Setup:
    """Returns a setup with another number of replicas.

    Args:
      setup: the job.
      replicas: number of replicas.
      scaling: "weak": each replica keeps its batch; "strong": the global batch is kept.

    Returns:
      the setup.
    """
    batch = setup.job.global_batch if scaling == "strong" else setup.job.per_replica_batch * replicas
    return dataclasses.replace(setup, job=dataclasses.replace(setup.job, replicas=replicas, global_batch=batch))


def predict_curves(setup: Setup, machine: Machine, progress: Progress) -> dict[str, dict[int, Prediction]]:
    """Predicts each side at each number of replicas.

    Args:
      setup: the job.
      machine: the machine.
      progress: shows what is being predicted.

    Returns:
      {side: {number of replicas: prediction}}.
    """
    from parity.prediction.prediction import predict_step

    counts = replica_counts(setup, machine)
    curves: dict[str, dict[int, Prediction]] = {side: {} for side in FLAGS.sides}
    for number, (side, count) in enumerate(itertools.product(FLAGS.sides, counts)):
        progress.update(number, len(curves) * len(counts), f"{side}, {counted(count, 'replica')}")
        curves[side][count] = predict_step(with_replicas(setup, count, FLAGS.scaling), side, machine)
    return curves


def measured_error(setup: Setup) -> list[MeasuredStep]:
    """Predicts and measures a job's small size on the CPU of this machine; returns a row for each side."""
    from parity.prediction.this_machine.measured_step import Alternative, measure_alternatives, small_setup

    small = small_setup(setup)
    ways = {side: Alternative(side, small) for side in FLAGS.sides}
    return measure_alternatives(ways, small, FLAGS.block_seconds, timed_rounds())


def timed_rounds() -> int:
    """Returns the number of timed rounds; a validation compares alternatives that differ by little, and takes more."""
    return FLAGS.rounds or (12 if FLAGS.validate else 6)


def chosen_machine(setup: Setup) -> Machine:
    """Returns the machine of `--devices`; this machine's CPU is measured with the job's own ops."""
    from parity.prediction.machines.selection import THIS_CPU, machine_named

    if FLAGS.devices != THIS_CPU:
        return machine_named(FLAGS.devices)
    from parity.prediction.this_machine.measured_step import this_machine
    from parity.prediction.this_machine.pace import paces_of_this_machine

    setup.start_devices()
    with paces_of_this_machine() as paces:
        return this_machine(setup, paces)


def validate() -> int:
    """Runs `--validate`; returns the exit status."""
    from parity.prediction.this_machine.validation import ValidationPlan, validate, validation_json
    from parity.reports.formatting import make_console
    from parity.reports.validation_tables import validation_parts
    from workloads.progress.progress import Progress

    counts = tuple(int(count) for count in FLAGS.replica_counts)
    size = FLAGS.size if FLAGS["size"].present else "small"
    plan = ValidationPlan(tuple(FLAGS.workloads), counts, size, FLAGS.block_seconds, timed_rounds())
    progress = Progress("predict --validate", "run")
    jobs = validate(plan, lambda text, done, total: progress.update(done, total, text))
    progress.done()
    console = make_console()
    for part in validation_parts(jobs):
        console.print(part, highlight=False)
    command.write_json(validation_json(jobs))
    return 0


def write_scaling_page() -> int:
    """Runs `--scaling_page`; returns the exit status."""
    from parity.prediction.machines.selection import machine_named
    from parity.reports.scaling_page import scaling_page

    machines = [machine_named(name) for name in FLAGS.clusters]
    flag = f"--scaling_page={FLAGS.scaling_page}"
    page = scaling_page(machines, FLAGS.workloads, FLAGS.size, f"python -m parity.predict {flag}")
    json_file.write_text(FLAGS.scaling_page, "\n".join(page), "--scaling_page")
    return 0


def main() -> int:
    """Runs the command; returns its exit status."""
    from parity.prediction.machines.selection import THIS_CPU, machine_named

    check_flags()
    if FLAGS.devices != THIS_CPU:
        machine_named(FLAGS.devices)  # what is refused is refused before TensorFlow starts
    environment.prepare(exact=False)
    if FLAGS.validate:
        return validate()
    if FLAGS.scaling_page:
        return write_scaling_page()
    from parity.prediction.prediction import step_graph
    from parity.prediction.what_if import gains
    from parity.reports.formatting import make_console
    from parity.reports.prediction_tables import error_lines, prediction_parts
    from workloads.progress.progress import Progress

    setup = parity_flags.timed_setup(stream=FLAGS.legacy_input != "resident")
    job, progress = setup.job, Progress(f"predict {setup.job.workload.name}", None)
    progress.stage(f"looking at {FLAGS.devices}")
    machine = chosen_machine(setup)
    curves = predict_curves(setup, machine, progress)
    found = {}
    for side in FLAGS.sides:
        progress.stage(f"{side}: what would help")
        found[side] = gains(step_graph(setup, side, machine), machine)
    progress.stage("measuring the error on the CPU of this machine")
    errors = measured_error(setup) if FLAGS.calibrate else None
    progress.done()
    size = f"{counted(job.replicas, 'replica')} x {job.per_replica_batch}"
    title = f"{job.workload.name}, {size} on {machine.name}, predicted"
    console = make_console()
    for part in [*prediction_parts(curves, found, title, FLAGS.scaling, job.replicas), *error_lines(errors)]:
        console.print(part, highlight=False)
    measured = None if errors is None else [row.to_json() for row in errors]
    command.write_json({**prediction_json(setup, machine, curves, found), "measured_here": measured})
    return 0


def prediction_json(
    setup: Setup, machine: Machine, curves: dict[str, dict[int, Prediction]], found: dict[str, list[Any]]
) -> dict[str, Any]:
    """Returns a prediction for `--json`; times in seconds.

    Args:
      setup: the job.
      machine: the machine.
      curves: {side: {number of replicas: prediction}}.
      found: {side: its gains}.

    Returns:
      the content.
    """
    return {
        "workload": setup.job.workload.name,
        "job": setup.job.describe(),
        "machine": machine.to_json(),
        "scaling": FLAGS.scaling,
        "predictions": {side: [row.to_json() for row in curve.values()] for side, curve in curves.items()},
        "gains": {side: {row.change: row.gain for row in rows} for side, rows in found.items()},
    }


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
