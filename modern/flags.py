"""Modern: how the port runs."""

from __future__ import annotations

from absl import flags

from modern.options import ALL_REDUCE, AUTODIFF, UPDATE_RULES, ModernOptions
from workloads.support.errors import require

STRATEGIES = ("mirrored", "multi_worker", "parameter_server")

flags.DEFINE_string(
    "all_reduce", "tower_order", "How replicas combine: " + ", ".join(ALL_REDUCE) + " (ring: between workers only)."
)
flags.DEFINE_string(
    "update_rules",
    "tf1",
    "tf1: the kernels of 1.x's optimizers; keras: Keras 3 optimizers. " + "Allowed: " + ", ".join(UPDATE_RULES) + ".",
)
flags.DEFINE_string(
    "autodiff",
    "graph",
    "graph: tf.gradients in the replica function, or a lift's own gradients; tape: tf.GradientTape; new: a lift's loss "
    "differentiated afresh. " + "Allowed: " + ", ".join(AUTODIFF) + ".",
)
flags.DEFINE_integer("steps_per_call", 100, "Steps inside one call of the tf.function.")
flags.DEFINE_boolean("xla", False, "Compile each replica's forward and backward pass with XLA.")

flags.DEFINE_string("strategy", "mirrored", "Which tf.distribute strategy: " + ", ".join(STRATEGIES) + ".")
flags.DEFINE_integer("parameter_servers", 1, "With --strategy=parameter_server: processes that hold the variables.")
flags.DEFINE_integer("workers", 1, "Processes that share the job, each with --replicas; started on this machine.")

FLAGS = flags.FLAGS


def check_strategy():
    """Raises `InputError` unless `--strategy` and what goes with it can be used."""
    require(FLAGS.strategy in STRATEGIES, "--strategy", FLAGS.strategy, "allowed: " + ", ".join(STRATEGIES))
    require(FLAGS.workers >= 1, "--workers", FLAGS.workers, "must be at least 1")
    if FLAGS.strategy == "parameter_server":
        require(FLAGS.parameter_servers >= 1, "--parameter_servers", FLAGS.parameter_servers, "must be at least 1")
        require(FLAGS.replicas in (None, 1), "--replicas", FLAGS.replicas, "a worker of a parameter server has one")
        require(FLAGS.staleness is None, "--staleness", FLAGS.staleness, "parameter servers are as late as it comes")
        require(FLAGS.update_rules == "tf1", "--update_rules", FLAGS.update_rules, "with parameter servers: tf1")


def options_from_flags(exact, average="stack"):
    """The `ModernOptions` that the flags say; `average` is the form in which legacy adds."""
    return ModernOptions(
        all_reduce=FLAGS.all_reduce,
        update_rules=FLAGS.update_rules,
        autodiff=FLAGS.autodiff,
        steps_per_call=FLAGS.steps_per_call,
        xla=FLAGS.xla,
        average=average,
        placement=FLAGS.placement,
        exact=exact,
    )


def program_from_flags(job, source, devices, exact, worker=None):
    """The port that the flags say, for the main modules that run it alone; or a `cluster.Worker`'s share of it."""
    from modern import factory
    from modern.collectives import strategy

    if devices[0].startswith("CPU"):
        strategy.divide_cpu(len(devices))
    return factory.program(job, source, options_from_flags(exact), devices, worker)
