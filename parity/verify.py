"""`python -m parity.verify --workload=resnet18 --replicas=4 --steps=100`: is the port the same program?

Runs the towers and their tf.distribute port side by side and compares every step: batches, losses, gradients,
combined gradients, learning rate, weights, slots, statistics, averages. Exit status 0: parity; 1: no parity;
2: input that cannot be used.
"""

from __future__ import annotations

import contextlib
import os
import tempfile

from absl import flags

from legacy import flags as legacy_flags
from parity import flags as parity_flags
from workloads.selection import flags as job_flags
from workloads.support import command, environment
from workloads.support.errors import require

MODES = ("free", "locked")

flags.DEFINE_integer("steps", 20, "Steps to compare.")
flags.DEFINE_enum(
    "mode", "free", MODES, "free: two trajectories; locked: each step of the port starts from legacy's state."
)
flags.DEFINE_enum(
    "tolerance",
    None,
    ("exact", "auto"),
    "exact: identical bits; auto: rounding, by a measured floor. Default: exact; auto "
    "with --recording or --legacy_python.",
)
flags.DEFINE_string(
    "recording", None, "Compare with this recording (.npz; for a lift, the folder that recorder.py wrote)."
)
flags.DEFINE_string("legacy_python", None, "Run the towers in this interpreter, with its own TensorFlow.")
flags.DEFINE_boolean("floor", True, "With --tolerance=auto, measure legacy's own distance from float64.")

FLAGS = flags.FLAGS


def check_flags():
    """Raises `InputError` for what can be refused before TensorFlow is started."""
    require(FLAGS.steps >= 1, "--steps", FLAGS.steps, "must be at least 1")
    require(not (FLAGS.recording and FLAGS.legacy_python), "--recording", FLAGS.recording, "not with --legacy_python")


def tolerance_name():
    """`--tolerance`, or what suits: another environment's kernels do not give this one's bits."""
    return FLAGS.tolerance or ("auto" if FLAGS.recording or FLAGS.legacy_python else "exact")


def run(setup, left, steps, mode, rule, with_floor):
    """Compares `left` (a `Program`, or None for towers built here) with the port.

    Returns:
      (`Verification`, {"left", "right"} settings).
    """
    from parity.comparison import tolerance
    from parity.comparison.verification import verify
    from parity.reports.progress import Progress

    auto = rule == "auto"
    progress = Progress("verify " + setup.job.workload.name)
    with contextlib.ExitStack() as stack:
        left = stack.enter_context(setup.legacy_program() if left is None else left)
        right = stack.enter_context(setup.modern_program())
        witness = stack.enter_context(setup.modern_program()) if auto and mode == "free" else None
        floor = stack.enter_context(setup.closing_noise_floor()) if auto and with_floor else None
        result = verify(
            left,
            right,
            setup.job,
            steps,
            mode,
            rule,
            witness,
            floor,
            lambda done, so_far: progress.update(done, steps, "" if so_far.passed else "NO PARITY"),
            tolerance.keras_units(setup.job.workload.optimizer, setup.modern.update_rules),
        )
        progress.done()
        return result, {"left": left.describe(), "right": right.describe()}


def explain(setup, folder, verification):
    """(recognized causes, `Evidence`) for a verification that failed: both sides run again, from their first states.

    They run freely a little past the first failure; then, where legacy is not a recording that ends, some steps more
    from legacy's state.
    """
    from parity.causes import catalogue
    from parity.diagnosis import collect, job_context

    first = verification.first.step if verification.first else 0
    with contextlib.ExitStack() as stack:
        left = left_from_flags(setup, folder)
        free, locked = max(collect.FREE, first + 2), collect.LOCKED
        if left is not None:
            free = min(free, left.steps)
            locked = min(locked, left.steps - free)
        left = stack.enter_context(setup.legacy_program() if left is None else left)
        right = stack.enter_context(setup.modern_program())
        about = {"left": left.describe(), "right": right.describe()}
        evidence = collect.collect_evidence(left, right, job_context.context_of_job(setup.job, about), free, locked)
        return catalogue.recognize_causes(evidence), evidence


def left_from_flags(setup, folder):
    """The recording that the flags name or ask for, as a `Program`; None if the towers run here."""
    from parity.comparison import settings
    from parity.processes import interpreter
    from workloads.records.reader import Recording

    path = FLAGS.recording
    if FLAGS.legacy_python:
        path = os.path.join(folder, "legacy.npz")
        if not os.path.exists(path):
            interpreter.version(FLAGS.legacy_python)
            job_and_towers = interpreter.same_flags(FLAGS, [job_flags.__name__, legacy_flags.__name__])
            interpreter.record(FLAGS.legacy_python, job_and_towers + [f"--steps={FLAGS.steps}"], path)
    if path is None:
        return None
    recording = Recording(path)
    settings.require_same_job(recording.manifest["job"], setup.job)
    require(FLAGS.steps <= recording.steps, "--steps", FLAGS.steps, f"the recording holds {recording.steps}")
    return recording


def verify_recorded_run(setup):
    """`three_ways.ThreeWays` of a lifted workload and the recording that `--recording` names; shows it."""
    from parity.comparison import three_ways
    from parity.reports import tables
    from parity.reports.progress import Progress

    progress, console = Progress("verify " + setup.job.workload.name), tables.console()
    steps = FLAGS.steps if FLAGS["steps"].present else None
    result = three_ways.compare_three_ways(
        setup,
        FLAGS.recording,
        steps,
        tolerance_name(),
        lambda column, done, so_far: progress.update(done, so_far.steps, column),
    )
    progress.done()
    console.print(tables.columns_table(result.columns))
    for line in tables.notes(result.columns[three_ways.COLUMNS[-1]]):
        console.print("note: " + line)
    for missing in result.missing:
        console.print("note: the recording does not hold the " + missing)
    console.print(three_ways.verdict(result), style="bold green" if result.passed else "bold red", highlight=False)
    return result


def recorded_json(setup, result):
    """`to_json` for a recorded run: the judged comparison, and all columns."""
    from parity.comparison import three_ways

    return {
        "workload": setup.job.workload.name,
        "job": setup.job.describe(),
        **result.columns[three_ways.COLUMNS[-1]].to_json(),
        "summary": three_ways.verdict(result),
        "columns": {column: verification.to_json() for column, verification in result.columns.items()},
        "not_recorded": result.missing,
        "environment": environment.describe(),
    }


def show(setup, result, about, console, causes=None):
    """Prints the causes first, where something failed; then tables and verdict."""
    from parity.comparison import settings
    from parity.reports import causes as cause_report
    from parity.reports import tables

    job = setup.job
    for line in cause_report.lines(*causes) if causes else ():
        console.print(line, highlight=False, markup=False)
    console.print(
        f"{job.workload.name}: {job.replicas} replicas, global batch {job.global_batch} ({job.per_replica_batch} per replica), {job.dtype}, {result.mode} mode",
        style="bold",
    )
    console.print(tables.settings_table(settings.differences(about["left"], about["right"]), "legacy", "modern"))
    if result.stages:
        console.print(tables.stages_table(result.stages, tables.judged(result)))
    if result.trajectory:
        console.print(tables.stages_table(result.trajectory, "the free trajectories, reported and not judged"))
    if result.floor:
        console.print(tables.floor_table(result.floor))
    for line in tables.notes(result):
        console.print("note: " + line)
    console.print(tables.verdict_line(result), style="bold green" if result.passed else "bold red", highlight=False)


def to_json(setup, result, about, left, causes=None):
    """Everything there is to know about the comparison."""
    from parity.comparison import settings
    from parity.reports import causes as cause_report

    return {
        "workload": setup.job.workload.name,
        "job": setup.job.describe(),
        **result.to_json(),
        **(cause_report.to_json(*causes) if causes else {"causes": []}),
        "settings": {
            "legacy": about["left"],
            "modern": about["right"],
            "differences": settings.differences(about["left"], about["right"]),
        },
        "environment": environment.describe(),
        "legacy_environment": getattr(left, "manifest", {}).get("environment", environment.describe()),
    }


def main():
    check_flags()
    environment.prepare(exact=True)
    from parity.reports import tables

    setup = parity_flags.setup_from_flags(exact=True)
    if setup.job.workload.is_lifted and FLAGS.recording and not FLAGS.recording.endswith(".npz"):
        recorded = verify_recorded_run(setup)
        command.write_json(recorded_json(setup, recorded))
        return 0 if recorded.passed else 1
    with tempfile.TemporaryDirectory() as folder:
        left = left_from_flags(setup, folder)
        result, about = run(setup, left, FLAGS.steps, FLAGS.mode, tolerance_name(), FLAGS.floor)
        asked = not (result.passed or result.mismatched) and setup.job.staleness is None
        causes = explain(setup, folder, result) if asked else None
    show(setup, result, about, tables.console(), causes)
    command.write_json(to_json(setup, result, about, left, causes))
    return 0 if result.passed else 1


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
