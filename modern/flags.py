"""Modern: execution of the port."""

from __future__ import annotations

from typing import TYPE_CHECKING

from absl import flags

from modern.options import ALL_REDUCE, AUTODIFF, UPDATE_RULES, VARIABLES, ModernOptions
from workloads.selection.tap_flags import taps_from_flags
from workloads.support.errors import require

if TYPE_CHECKING:
    from modern.collectives.worker import Worker
    from workloads.job import Job
    from workloads.program import Program
    from workloads.sources import Source

STRATEGIES = ("mirrored", "multi_worker", "parameter_server")

flags.DEFINE_enum("all_reduce", "tower_order", ALL_REDUCE, "All-reduce of the gradients; ring: between workers only.")
flags.DEFINE_enum(
    "update_rules", "tf1", UPDATE_RULES, "tf1: the kernels of 1.x's optimizers; keras: Keras 3 optimizers."
)
flags.DEFINE_enum(
    "autodiff",
    "graph",
    AUTODIFF,
    "graph: tf.gradients in the replica function, or a lift's own gradients; tape: tf.GradientTape; new: a lift's loss "
    "differentiated again.",
)
flags.DEFINE_enum(
    "variables",
    "auto",
    VARIABLES,
    "mirrored: a copy on every replica, each updated by itself; first: one copy on the first replica's device, updated "
    "once; auto: first where the replicas are CPU devices of one process, else mirrored.",
)
flags.DEFINE_integer("steps_per_call", 100, "Steps inside one call of the tf.function.")
flags.DEFINE_boolean("xla", False, "Compile each replica's forward and backward pass with XLA.")

flags.DEFINE_enum("strategy", "mirrored", STRATEGIES, "The tf.distribute strategy.")
flags.DEFINE_integer("parameter_servers", 1, "With --strategy=parameter_server: processes that hold the variables.")
flags.DEFINE_integer("workers", 1, "Processes that share the job, each with --replicas; started on this machine.")

FLAGS = flags.FLAGS


def check_strategy() -> None:
    """Raises `InputError` for flags that cannot be combined with `--strategy`."""
    require(FLAGS.workers >= 1, "--workers", FLAGS.workers, "must be at least 1")
    require(
        FLAGS.variables != "first" or FLAGS.strategy == "mirrored", "--variables", "first", "with --strategy=mirrored"
    )
    if FLAGS.strategy == "parameter_server":
        require(FLAGS.parameter_servers >= 1, "--parameter_servers", FLAGS.parameter_servers, "must be at least 1")
        require(FLAGS.replicas in (None, 1), "--replicas", FLAGS.replicas, "a worker of a parameter server has one")
        require(
            FLAGS.staleness is None,
            "--staleness",
            FLAGS.staleness,
            ("cannot be set with --strategy=parameter_server (staleness is measured there, not controlled)"),
        )
        require(FLAGS.update_rules == "tf1", "--update_rules", FLAGS.update_rules, "with parameter servers: tf1")


def options_from_flags(exact: bool, average: str = "stack") -> ModernOptions:
    """Returns the options that the flags describe; `exact` and `average` as in `ModernOptions`."""
    return ModernOptions(
        all_reduce=FLAGS.all_reduce,
        update_rules=FLAGS.update_rules,
        autodiff=FLAGS.autodiff,
        steps_per_call=FLAGS.steps_per_call,
        xla=FLAGS.xla,
        average=average,
        placement=FLAGS.placement,
        variables=FLAGS.variables,
        exact=exact,
        taps=taps_from_flags(FLAGS),
    )


def program_from_flags(
    job: Job, source: Source, devices: list[str], exact: bool, worker: Worker | None = None
) -> Program:
    """Makes the port that the flags describe, for commands that run it alone.

    Args:
      job: the `Job`.
      source: the `Source` of its batches.
      devices: the device of each replica.
      exact: see `ModernOptions`.
      worker: the worker that this process is, which runs its share of the job; None for the only one.

    Returns:
      the program.
    """
    from modern import factory
    from modern.collectives import strategy

    workers = 1 if worker is None else worker.on_machine
    strategy.share_cpu(devices, len(devices) * workers if FLAGS.placement == "towers" else 1, exact)
    return factory.modern_program(job, source, options_from_flags(exact), devices, worker)
