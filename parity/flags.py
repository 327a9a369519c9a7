"""Flags of the commands that compare or time both sides: `--json`, and the `Setup` that all flags together describe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from absl import flags

from legacy import flags as legacy_flags
from modern import flags as modern_flags
from workloads.selection import flags as job_flags
from workloads.selection.tap_flags import taps_from_flags
from workloads.support.command_line import command
from workloads.support.errors import require

if TYPE_CHECKING:
    from parity.comparison.setup import Setup

#: Title of `--json` in `--help`.
HELP_TITLE = "Output"

command.define_json()

FLAGS = flags.FLAGS


def check_mirrored_towers(flag_values: flags.FlagValues) -> None:
    """Raises `InputError` unless a command's flags describe towers and a mirrored port in one process."""
    for flag, allowed in (("strategy", "mirrored"), ("placement", "towers"), ("updates", "sync"), ("workers", 1)):
        require(flag_values[flag].value == allowed, f"--{flag}", flag_values[flag].value, f"here: {allowed}")


def timed_setup(stream: bool) -> Setup:
    """Makes the `Setup` of programs that are timed; its batch is resident unless `stream` or it comes from files."""
    resident = not stream and FLAGS.data_dir is None and FLAGS.data is None
    return setup_from_flags(exact=False, resident=resident)


def setup_from_flags(exact: bool, workload_name: str | None = None, resident: bool | None = None) -> Setup:
    """Makes the `Setup` that the flags describe.

    Args:
      exact: both programs run for identical bits; see `LegacyOptions` and `ModernOptions`.
      workload_name: used instead of `--workload` if given.
      resident: used instead of `--resident` if given.

    Returns:
      the setup, whose devices exist.

    Raises:
      InputError: a flag's value is not usable, or there are fewer devices than replicas.
    """
    from parity.comparison.setup import Setup

    resident = FLAGS.resident if resident is None else resident
    modern_flags.check_strategy()
    parameter_servers = FLAGS.parameter_servers if FLAGS.strategy == "parameter_server" else 0
    require(
        not parameter_servers or FLAGS.workers == 1,
        "--workers",
        FLAGS.workers,
        "with parameter servers only one worker has an order to compare; for late updates in order: --staleness",
    )
    taps = taps_from_flags(FLAGS)
    one_process = not parameter_servers and FLAGS.workers == 1
    require(not taps or one_process, "--taps", ",".join(taps), "with replicas in one process")
    replicas = 1 if parameter_servers else 2
    job, make_source = job_flags.job_from_flags(workload_name, resident, FLAGS.workers, replicas)
    legacy = legacy_flags.options_from_flags(exact, resident)
    setup = Setup(
        job=job,
        make_source=make_source,
        legacy=legacy,
        modern=modern_flags.options_from_flags(exact, legacy.average),
        device=FLAGS.device,
        logical_cpus=FLAGS.logical_cpus,
        logical_gpus=FLAGS.logical_gpus,
        workers=FLAGS.workers,
        parameter_servers=parameter_servers,
        layer_devices=job_flags.devices_needed(job) if FLAGS.placement == "layers" else 0,
    )
    setup.devices()
    return setup
