"""Comparison with an old graph: `--against` names its lift, and describes a `Setup` together with the other flags."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, NamedTuple

from absl import flags

from legacy import flags as legacy_flags
from modern import flags as modern_flags
from parity import flags as parity_flags
from workloads.lifted import is_lift_folder
from workloads.selection import flags as job_flags
from workloads.selection import registry
from workloads.support.command_line import command
from workloads.support.errors import require

if TYPE_CHECKING:
    from collections.abc import Callable

    from parity.against.against_setup import OldGraph
    from parity.comparison.setup import Setup
    from workloads.job import Job
    from workloads.lifted.workload import LiftedWorkload
    from workloads.sources import Source
    from workloads.workload import Workload

flags.DEFINE_string(
    "against",
    None,
    "Folder that legacy.lift wrote: compare the workload with that old graph, run in a session, instead of with towers "
    "built from the workload. Batches, first values and random numbers are the lift's; --data and --settings apply.",
)

#: Title of the flag in `--help`.
HELP_TITLE = "Comparison with an old graph"

FLAGS = flags.FLAGS

command.isolate_if(lambda: f"--against: {FLAGS.against!r}" if FLAGS.against else None)

#: Flags that do not go with --against.
_UNUSED = ("recording", "legacy_python", "data_dir", "staleness")


class SetupAgainst(NamedTuple):
    """A workload, and the old graph that it is compared with.

    Attributes:
      setup: the setup, whose devices exist.
      old: the old graph; None of a port with a step of its own, whose records are in the old graph's terms already.
      notes: sentences on what is assumed for the old graph, and on what no compared number depends on.
    """

    setup: Setup
    old: OldGraph | None
    notes: list[str]


def names_the_same_lift() -> bool:
    """Returns whether `--workload` is itself the lift that `--against` names, with losses that are written.

    Such a workload's towers are that old graph, so that `--against` says nothing new.

    Raises:
      InputError: it is another lift.
    """
    from workloads.lifted.workload import as_lifted, load_lift

    port = registry.get(FLAGS.workload, FLAGS.size)
    if not port.is_lifted or not as_lifted(port).losses:
        return False
    require(is_lift_folder(FLAGS.against), "--against", FLAGS.against, "must be a folder that legacy.lift wrote")
    same = as_lifted(port).digest == load_lift(FLAGS.against).digest
    require(same, "--workload", FLAGS.workload, f"imports another lift than --against={FLAGS.against}")
    return True


def setup_from_flags(exact: bool) -> SetupAgainst:
    """Makes the setup of a workload and the old graph that `--against` names.

    Args:
      exact: both programs run for identical bits.

    Returns:
      the setup and the old graph.

    Raises:
      InputError: a flag's value is not usable, or the workload and the graph do not correspond.
    """
    from parity.against.against_setup import old_graph_of, setup_against
    from parity.against.first_values import initializer_note
    from parity.against.own_step import with_own_step
    from workloads.lifted.workload import load_lift
    from workloads.steps.tracing import trace_step
    from workloads.steps.workload import as_steps

    _check_flags()
    port = registry.get(FLAGS.workload, FLAGS.size)
    require(not port.is_lifted, "--workload", FLAGS.workload, "with --against: a workload, such as port.py:PORT")
    lift = load_lift(FLAGS.against)
    source = job_flags.lifted_source_from_flags(lift, FLAGS.resident, assume=True)
    job = _job(port, lift, source.name)
    setup = _setup(job, lift, source.make, exact, replicated=port.has_own_step)
    setup.devices()  # before a loop of the port is traced, which starts TensorFlow with the devices that it then has
    if port.has_own_step:
        steps = as_steps(port)
        traced = trace_step(steps, job.per_replica_batch, job.replicas)
        lift = with_own_step(lift, steps, traced, source.settings, job.replicas)
        setup = dataclasses.replace(setup, job=dataclasses.replace(job, workload=lift))
        note = initializer_note(lift.plan, {spec.name: spec.name for spec in traced.specs}, traced.specs)
        return SetupAgainst(setup, None, _notes(source.assumed, note))
    old = old_graph_of(lift, job, source.settings, source.make)
    note = initializer_note(lift.plan, old.names.weights, old.specs)
    return SetupAgainst(setup_against(setup, old), old, _notes(source.assumed, note))


def _notes(assumed: dict[str, float], of_initializers: str) -> list[str]:
    """Returns the notes: on {scalar input: value} of those that nothing gave a value, and on initializers."""
    values = ", ".join(f"{name}={value:g}" for name, value in assumed.items())
    notes = [f"assumed for the old graph: {values}; --settings=NAME=VALUE gives what the program fed"] if values else []
    return notes + ([of_initializers] if of_initializers else [])


def _check_flags() -> None:
    """Raises `InputError` for flags that do not go with `--against`."""
    modern_flags.check_strategy()
    parity_flags.check_mirrored_towers(FLAGS)
    for name in _UNUSED:
        value = FLAGS[name].value if name in FLAGS else None
        require(value is None, f"--{name}", value, "not with --against")
    require(is_lift_folder(FLAGS.against), "--against", FLAGS.against, "must be a folder that legacy.lift wrote")


def _job(port: Workload, lift: LiftedWorkload, data: str) -> Job:
    """Returns the port's job, with the lift's number of towers and batch unless flags say otherwise."""
    from workloads.job import Job

    replicas = lift.plan.towers if FLAGS.replicas is None else FLAGS.replicas
    per_replica = lift.plan.batch
    batch = replicas * per_replica if FLAGS.global_batch is None and per_replica else FLAGS.global_batch
    return Job(port, replicas, batch, FLAGS.dtype, FLAGS.seed, data)


def _setup(
    job: Job, lift: LiftedWorkload, make_source: Callable[[Job], Source], exact: bool, replicated: bool
) -> Setup:
    """Returns the setup of a job; its towers average as those of the old graph do, unless a flag says otherwise."""
    from parity.comparison.setup import Setup
    from workloads.lifted.averaging import average_form

    legacy = legacy_flags.options_from_flags(exact)
    if not FLAGS["legacy_average"].present:
        legacy = dataclasses.replace(legacy, average=average_form(lift.plan, lift.graph))
    return Setup(
        job=job,
        make_source=make_source,
        legacy=legacy,
        modern=modern_flags.options_from_flags(exact, legacy.average),
        device=FLAGS.device,
        logical_cpus=FLAGS.logical_cpus,
        logical_gpus=FLAGS.logical_gpus,
        replicated=replicated,
    )
