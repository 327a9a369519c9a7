"""`python -m parity.verify --workload=resnet18 --replicas=4 --steps=100 --tolerance=exact`: is the port the same program?

Runs the towers and their tf.distribute port side by side and compares every step: batches, losses, gradients,
combined gradients, learning rate, weights, slots, statistics, averages. Exit status 0: parity; 1: no parity;
2: input that cannot be used.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile

from absl import flags

from legacy import flags as legacy_flags
from modern import flags as modern_flags
from workloads import environment
from workloads import flags as job_flags
from workloads.errors import require, run_main

MODES = ("free", "locked")

flags.DEFINE_integer("steps", 20, "Steps to compare.")
flags.DEFINE_string("mode", "free", "free: two trajectories; locked: each step of the port starts from legacy's state.")
flags.DEFINE_string("tolerance", "exact", "exact: identical bits; auto: rounding, by a measured floor.")
flags.DEFINE_string("recording", None, "Compare with this recording instead of running the towers here.")
flags.DEFINE_string("legacy_python", None, "Run the towers in this interpreter, with its own TensorFlow.")
flags.DEFINE_boolean("floor", True, "With --tolerance=auto, measure legacy's own distance from float64.")
flags.DEFINE_string("json", None, "Write the whole result here.")
for _module in (job_flags, legacy_flags, modern_flags):
    flags.adopt_module_key_flags(_module)

FLAGS = flags.FLAGS


def check_flags():
    """Raises `InputError` for what can be refused before TensorFlow is started."""
    from parity import report, tolerance

    require(FLAGS.steps >= 1, "--steps", FLAGS.steps, "must be at least 1")
    require(FLAGS.mode in MODES, "--mode", FLAGS.mode, "allowed: " + ", ".join(MODES))
    require(FLAGS.tolerance in tolerance.NAMES, "--tolerance", FLAGS.tolerance, "allowed: " + ", ".join(tolerance.NAMES))
    require(not (FLAGS.recording and FLAGS.legacy_python), "--recording", FLAGS.recording, "not with --legacy_python")
    if FLAGS.json:
        report.require_writable(FLAGS.json, "--json")


def setup_from_flags(exact, workload_name=None):
    """The `pair.Setup` that the flags say."""
    from parity.pair import Setup

    job, make_source = job_flags.job_from_flags(workload_name)
    legacy = legacy_flags.options_from_flags(exact, FLAGS.resident)
    modern = modern_flags.options_from_flags(exact, legacy.average)
    return Setup(job, make_source, legacy, modern, FLAGS.device, FLAGS.logical_cpus)


def run(setup, left, steps, mode, tolerance_name, with_floor):
    """Compares `left` (a `Program`, or None for towers built here) with the port.

    Returns:
      (`Verification`, {"left", "right"} settings).
    """
    from parity.progress import Progress
    from parity.verification import verify

    auto = tolerance_name == "auto"
    progress = Progress("verify " + setup.job.workload.name)
    with contextlib.ExitStack() as stack:
        left = stack.enter_context(setup.legacy_program() if left is None else left)
        right = stack.enter_context(setup.modern_program())
        witness = stack.enter_context(setup.modern_program()) if auto and mode == "free" else None
        floor = stack.enter_context(contextlib.closing(setup.floor())) if auto and with_floor else None
        result = verify(
            left, right, setup.job, steps, mode, tolerance_name, witness, floor,
            lambda done, so_far: progress.update(done, steps, "" if so_far.passed else "NO PARITY"))
        progress.done()
        return result, {"left": left.describe(), "right": right.describe()}


def left_from_flags(setup, folder):
    """The recording that the flags name or ask for, as a `Program`; None if the towers run here."""
    from parity import old_python, settings
    from workloads.recording import Recording

    path = FLAGS.recording
    if FLAGS.legacy_python:
        old_python.version(FLAGS.legacy_python)
        path = os.path.join(folder, "legacy.npz")
        job_and_towers = old_python.same_flags(FLAGS, [job_flags.__name__, legacy_flags.__name__])
        old_python.record(FLAGS.legacy_python, job_and_towers + ["--steps={}".format(FLAGS.steps)], path)
    if path is None:
        return None
    recording = Recording(path)
    settings.require_same_job(recording.manifest["job"], setup.job)
    require(FLAGS.steps <= recording.steps, "--steps", FLAGS.steps, "the recording holds {}".format(recording.steps))
    return recording


def show(setup, result, about, console):
    """Prints verdict and tables."""
    from parity import report, settings

    job = setup.job
    console.print("{}: {} replicas, global batch {} ({} per replica), {}, {} mode".format(
        job.workload.name, job.replicas, job.global_batch, job.per_replica_batch, job.dtype, result.mode), style="bold")
    console.print(report.settings_table(settings.differences(about["left"], about["right"]), "legacy", "modern"))
    if result.stages:
        console.print(report.stages_table(result.stages, report.judged(result)))
    if result.trajectory:
        console.print(report.stages_table(result.trajectory, "the free trajectories, reported and not judged"))
    if result.floor:
        console.print(report.floor_table(result.floor))
    for line in report.notes(result):
        console.print("note: " + line)
    console.print(report.verdict_line(result), style="bold green" if result.passed else "bold red", highlight=False)


def to_json(setup, result, about, left):
    """Everything there is to know about the comparison."""
    from parity import settings

    return {
        "workload": setup.job.workload.name, "job": setup.job.describe(), **result.to_json(),
        "settings": {"legacy": about["left"], "modern": about["right"],
                     "differences": settings.differences(about["left"], about["right"])},
        "environment": environment.describe(),
        "legacy_environment": getattr(left, "manifest", {}).get("environment", environment.describe()),
    }


def main(argv):
    require(len(argv) == 1, "argument", argv[1:], "flags only; see --help")
    check_flags()
    environment.prepare(exact=True)
    from parity import report

    setup = setup_from_flags(exact=True)
    setup.devices()
    with tempfile.TemporaryDirectory() as folder:
        left = left_from_flags(setup, folder)
        result, about = run(setup, left, FLAGS.steps, FLAGS.mode, FLAGS.tolerance, FLAGS.floor)
    show(setup, result, about, report.console())
    if FLAGS.json:
        report.write_json(FLAGS.json, to_json(setup, result, about, left))
    sys.exit(0 if result.passed else 1)


def console():
    """Entry point."""
    run_main(main)


if __name__ == "__main__":
    console()
