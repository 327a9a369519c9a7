"""Flags of a comparison, and what they describe: its plan, the left side's recording, the examples of the metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from absl import flags

from legacy import flags as legacy_flags
from parity import report_flags
from parity.processes import child_command
from workloads.selection import evaluation_flags, name_flags, tap_flags
from workloads.selection import flags as job_flags
from workloads.support.errors import require

if TYPE_CHECKING:
    from parity.comparison.setup import Setup
    from parity.verdict.compare_programs import ComparisonPlan
    from workloads.data.batches import Batches
    from workloads.records.reader import Recording

flags.disclaim_key_flags()  # `--help` lists the flags with those of the command that asks for them

MODES = ("free", "locked")


def define_comparison(flag_values: flags.FlagValues) -> None:
    """Defines the flags of a comparison."""
    flags.DEFINE_integer("steps", 20, "Number of steps to compare.", flag_values=flag_values)
    flags.DEFINE_enum(
        "mode",
        "free",
        MODES,
        "free: two trajectories; locked: each step of the port starts from legacy's state.",
        flag_values=flag_values,
    )
    flags.DEFINE_enum(
        "tolerance",
        None,
        ("exact", "auto"),
        "exact: identical bits; auto: differences within rounding, by a measured noise floor. Default: exact; auto "
        "with --recording or --legacy_python.",
        flag_values=flag_values,
    )
    flags.DEFINE_string(
        "recording",
        None,
        "Compare with this recording (.npz; for a lift, the folder that recorder.py wrote).",
        flag_values=flag_values,
    )
    flags.DEFINE_string(
        "legacy_python",
        None,
        "Run the towers in this Python interpreter, with its own TensorFlow.",
        flag_values=flag_values,
    )
    flags.DEFINE_boolean(
        "floor",
        True,
        "With --tolerance=auto, measure the noise floor: the rounding errors of legacy's own steps.",
        flag_values=flag_values,
    )
    flags.DEFINE_boolean(
        "visits",
        True,
        "Also compare single steps from states in which choices act that the first steps do not exercise: around the "
        "learning rate's boundaries, at the end of the averages' warm-up, with and without clipping.",
        flag_values=flag_values,
    )
    flags.DEFINE_boolean(
        "coverage",
        False,
        "Change every constant of the towers' graph too, one at a time, not only the choices that the workload names, "
        "and report whether the comparison would have detected it.",
        flag_values=flag_values,
    )
    report_flags.define_report(flag_values)
    name_flags.define_names(flag_values)
    tap_flags.define_taps(flag_values)
    evaluation_flags.define_eval_data(flag_values)


def check_comparison(flag_values: flags.FlagValues) -> None:
    """Raises `InputError` for flags that can be refused before TensorFlow is started."""
    require(flag_values.steps >= 1, "--steps", flag_values.steps, "must be at least 1")
    report_flags.check_report(flag_values)
    recording, names = flag_values.recording, flag_values.names
    require(not (recording and flag_values.legacy_python), "--recording", recording, "not with --legacy_python")
    require(names is None or recording, "--names", names, "needs the --recording of another framework")
    name_flags.check_names(flag_values)


def tolerance_name(flag_values: flags.FlagValues) -> str:
    """Returns `--tolerance`, or its default: "auto" for another environment, whose kernels give other bits."""
    return flag_values.tolerance or ("auto" if flag_values.recording or flag_values.legacy_python else "exact")


def plan_from_flags(flag_values: flags.FlagValues) -> ComparisonPlan:
    """Returns the comparison's steps, mode and tolerance that the flags describe."""
    from parity.verdict.compare_programs import ComparisonPlan

    return ComparisonPlan(
        flag_values.steps,
        flag_values.mode,
        tolerance_name(flag_values),
        with_references=flag_values.floor,
        with_visits=flag_values.visits,
        whole_coverage=flag_values.coverage,
        with_history=flag_values.report is not None,
    )


def recording_from_flags(flag_values: flags.FlagValues, setup: Setup, folder: str) -> Recording | None:
    """Opens the recording that the flags name, or makes the one that they ask for.

    Args:
      flag_values: the flags.
      setup: the job.
      folder: an existing folder for a recording that `--legacy_python` makes; it is made once.

    Returns:
      the recording, at its first step; None if the towers run here.
    """
    from parity.verdict import left_side

    path, python = flag_values.recording, flag_values.legacy_python
    if python:
        modules = [job_flags.__name__, legacy_flags.__name__, tap_flags.__name__]
        job_and_towers = child_command.flag_arguments(flag_values, modules)
        path = left_side.record_in_interpreter(python, [*job_and_towers, f"--steps={flag_values.steps}"], folder)
    if path is None:
        return None
    recording = left_side.open_recording(path, setup.job, flag_values.steps, flag_values.names)
    holds = not flag_values.taps or recording.holds_taps
    require(holds, "--taps", ",".join(flag_values.taps or ()), f"{path} holds no activations; record it with --taps")
    return recording


def examples_of_metrics(flag_values: flags.FlagValues, setup: Setup) -> Batches | None:
    """Returns the examples to evaluate on: those of `--eval_data`, or made-up ones; None without metrics.

    Raises:
      InputError: the data cannot be used, or the metrics cannot be evaluated.
    """
    from workloads.data.evaluation import made_up_examples

    job = setup.job
    mirrored = setup.workers == 1 and not setup.parameter_servers and not setup.layer_devices
    data = flag_values.eval_data
    require(mirrored or not data, "--eval_data", data, "with mirrored replicas in one process")
    if data:
        return evaluation_flags.examples_from_flags(job, flag_values)
    return made_up_examples(job) if mirrored and not job.workload.is_lifted and job.workload.has_metrics else None
