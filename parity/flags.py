"""Output, and the `Setup` that the flags say; for the main modules of this folder."""

from __future__ import annotations

from absl import flags

from legacy import flags as legacy_flags
from modern import flags as modern_flags
from workloads.selection import flags as job_flags
from workloads.support import command
from workloads.support.errors import require

command.define_json()

FLAGS = flags.FLAGS


def setup_from_flags(exact, workload_name=None, resident=None):
    """The `pair.Setup` that the flags say, for `workload_name` instead of `--workload` if given.

    Raises:
      InputError: a flag's value is not usable, or there are fewer devices than replicas.
    """
    from parity.comparison.setup import Setup

    resident = FLAGS.resident if resident is None else resident
    modern_flags.check_strategy()
    servers = FLAGS.parameter_servers if FLAGS.strategy == "parameter_server" else 0
    require(
        not servers or FLAGS.workers == 1,
        "--workers",
        FLAGS.workers,
        "with parameter servers only one worker has an order to compare; for late updates in order: --staleness",
    )
    job, make_source = job_flags.job_from_flags(workload_name, resident, FLAGS.workers, 1 if servers else 2)
    legacy = legacy_flags.options_from_flags(exact, resident)
    modern = modern_flags.options_from_flags(exact, legacy.average)
    layers = job_flags.devices_needed(job) if FLAGS.placement == "layers" else 0
    setup = Setup(job, make_source, legacy, modern, FLAGS.device, FLAGS.logical_cpus, FLAGS.workers, servers, layers)
    setup.devices()
    return setup
