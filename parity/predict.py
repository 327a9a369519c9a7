"""`python -m parity.predict --workload=regression --devices=v100x8`: predicts both sides on devices that are not here.

Builds the towers' graph and the port's as they would run on those devices, prices each op by TensorFlow's cost model
(Grappler's) and the devices' numbers, and schedules ops, copies and all-reduces: the step time, how each device spends
it, examples per second against the number of replicas, which resource binds, and what would help. Beside it stands the
error of the same prediction for the CPU of this machine, whose step is measured (docs/predict.md). `--validate` does
only that: five workloads, several replicas and alternatives. Exit status 0: predicted; 2: input that cannot be used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from absl import flags

from parity import flags as parity_flags
from parity.prediction.curves import SCALINGS, WEAK
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
    from parity.prediction.this_machine.measured_step import MeasuredStep

SIDES = ("legacy", "modern")

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
    WEAK,
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


def predict() -> int:
    """Predicts the job of the flags; returns the exit status."""
    from parity.prediction.curves import predict_job
    from parity.reports.formatting import make_console
    from parity.reports.prediction_tables import error_lines, prediction_parts
    from workloads.progress.progress import Progress

    setup = parity_flags.timed_setup(stream=FLAGS.legacy_input != "resident")
    job, progress = setup.job, Progress(f"predict {setup.job.workload.name}", None)

    def show(text: str, done: int, total: int) -> None:
        progress.update(done, total, text) if total else progress.stage(text)

    progress.stage(f"looking at {FLAGS.devices}")
    prediction = predict_job(setup, chosen_machine(setup), FLAGS.sides, FLAGS.scaling, show)
    progress.stage("measuring the error on the CPU of this machine")
    errors = measured_error(setup) if FLAGS.calibrate else None
    progress.done()
    title = f"{job.workload.name}, {counted(job.replicas, 'replica')} x {job.per_replica_batch} "
    title += f"on {prediction.machine.name}, predicted"
    console = make_console()
    parts = prediction_parts(prediction.curves, prediction.gains, title, FLAGS.scaling, job.replicas)
    for part in [*parts, *error_lines(errors)]:
        console.print(part, highlight=False)
    measured = None if errors is None else [row.to_json() for row in errors]
    command.write_json({**prediction.to_json(), "measured_here": measured})
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
    return write_scaling_page() if FLAGS.scaling_page else predict()


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
