"""`python -m parity.profile --workload=resnet18 --replicas=2`: shows where the time of a step goes on each side.

Both programs take steps under TensorFlow's profiler: the time of their kernels by kind, and for each device how long it
computes, waits for input, for other devices and for transfers, and how long nothing runs while ops are launched. Then
both are timed without the profiler, in interleaved rounds with the floor: the step's convolutions and matrix products
alone, back to back, on the same devices and threads. Exit status 0: profiled; 2: input that cannot be used.
"""

from __future__ import annotations

from absl import flags

from parity import flags as parity_flags
from workloads.selection import flags as job_flags  # noqa: F401
from workloads.support.command_line import command
from workloads.support.errors import require
from workloads.support.machine import environment
from workloads.support.wording import counted

flags.DEFINE_integer("profile_steps", 10, "Steps of each side under the profiler.", lower_bound=1)
flags.DEFINE_integer("rounds", 10, "Timed rounds of both sides and the floor; an even number.", lower_bound=2)
flags.DEFINE_float("block_seconds", 0.25, "Approximate length of a timed block, in seconds.", lower_bound=0.01)
flags.DEFINE_boolean("stream", False, "New batches at every step. Default: the first batch, resident on the devices.")

FLAGS = flags.FLAGS


def check_flags() -> None:
    """Raises `InputError` for flags that can be refused before TensorFlow is started."""
    require(FLAGS.rounds % 2 == 0, "--rounds", FLAGS.rounds, "must be even")
    parity_flags.check_mirrored_towers(FLAGS)


def main() -> int:
    """Runs the command; returns its exit status."""
    check_flags()
    environment.prepare(exact=False)
    from parity.profiling.side_profiles import ProfilePlan, profile_sides
    from parity.reports.formatting import make_console
    from parity.reports.profile_tables import profile_tables
    from workloads.progress.progress import Progress

    setup = parity_flags.timed_setup(FLAGS.stream)
    progress = Progress("profile " + setup.job.workload.name, unit=None)
    plan = ProfilePlan(FLAGS.profile_steps, FLAGS.rounds, FLAGS.block_seconds)
    profiles = profile_sides(setup, plan, lambda text, done, total: progress.update(done, total, text))
    progress.done()
    console = make_console()
    job = setup.job
    title = f"{job.workload.name}, {counted(job.replicas, 'replica')} x {job.per_replica_batch}"
    for part in profile_tables(profiles, title):
        console.print(part, highlight=False)
    command.write_json({"workload": job.workload.name, "job": job.describe(), **profiles.to_json()})
    return 0


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
