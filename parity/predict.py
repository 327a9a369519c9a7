"""`python -m parity.predict --workload=regression --devices=v100x8`: predicts both sides on devices that are not here.

Builds the towers' graph and the port's as they would run on those devices, prices each op by TensorFlow's cost model
(Grappler's) and the devices' numbers, and schedules ops, copies and all-reduces: the step time, how each device spends
it, examples per second against the number of replicas, which resource binds, and what would help. Nothing runs on such
a device, so that a prediction has an error; docs/predict.md says how large it is. Exit status 0: predicted; 2: input
that cannot be used.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from absl import flags

from parity import flags as parity_flags
from workloads.selection import flags as job_flags  # noqa: F401
from workloads.support import command, environment
from workloads.support.errors import require

if TYPE_CHECKING:
    from parity.comparison.setup import Setup
    from parity.prediction.machines.machine import Machine
    from parity.prediction.prediction import Prediction

SIDES = ("legacy", "modern")
SCALINGS = ("weak", "strong")

flags.DEFINE_string(
    "devices",
    "gtx1060x2",
    "The devices: gtx1060, gtx1080ti, k80, p100, v100 or h100, each with their number, such as v100x8; or a JSON file "
    "that describes a machine (docs/predict.md).",
)
flags.DEFINE_list("sides", list(SIDES), "Sides to predict.")
flags.DEFINE_enum(
    "scaling",
    "weak",
    SCALINGS,
    "Examples a second against replicas: weak: each replica keeps its batch; strong: the global batch is kept.",
)

FLAGS = flags.FLAGS
FLAGS.set_default("size", "seed")
FLAGS.set_default("all_reduce", "auto")
FLAGS.set_default("logical_cpus", 9)  # the host, and a stand-in for each of eight devices


def check_flags() -> None:
    """Raises `InputError` for flags that can be refused before TensorFlow is started."""
    command.require_each(FLAGS.sides, list(SIDES), "--sides")
    require(FLAGS.sides, "--sides", FLAGS.sides, "at least one of " + ", ".join(SIDES))
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


def predict_curves(setup: Setup, machine: Machine) -> dict[str, dict[int, Prediction]]:
    """Returns {side: {number of replicas: prediction}}."""
    from parity.prediction.prediction import predict_step

    return {
        side: {
            count: predict_step(with_replicas(setup, count, FLAGS.scaling), side, machine)
            for count in replica_counts(setup, machine)
        }
        for side in FLAGS.sides
    }


def main() -> int:
    """Runs the command; returns its exit status."""
    from parity.prediction.machines.selection import machine_named

    check_flags()
    machine = machine_named(FLAGS.devices)
    environment.prepare(exact=False)
    from parity.prediction.prediction import step_graph
    from parity.prediction.what_if import gains
    from parity.reports.formatting import make_console
    from parity.reports.prediction_tables import prediction_parts

    setup = parity_flags.timed_setup(stream=FLAGS.legacy_input != "resident")
    curves = predict_curves(setup, machine)
    found = {side: gains(step_graph(setup, side, machine), machine) for side in FLAGS.sides}
    job = setup.job
    title = f"{job.workload.name}, {job.replicas} replicas x {job.per_replica_batch} on {machine.name}, predicted"
    console = make_console()
    for part in prediction_parts(curves, found, title, FLAGS.scaling, job.replicas):
        console.print(part, highlight=False)
    command.write_json(prediction_json(setup, machine, curves, found))
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
