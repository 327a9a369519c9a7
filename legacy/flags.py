"""Legacy: construction of the tower graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from absl import flags

from legacy.options import AVERAGES, INPUTS, UPDATES, VARIABLES, LegacyOptions
from workloads.selection.tap_flags import taps_from_flags

if TYPE_CHECKING:
    from workloads.job import Job
    from workloads.program import Program
    from workloads.sources import Source

flags.DEFINE_enum("legacy_input", "feed", INPUTS, "Input pipeline of the towers.")
flags.DEFINE_enum("legacy_variables", "cpu", VARIABLES, "Device of the variables; tower: the first tower's device.")
flags.DEFINE_enum("legacy_average", "stack", AVERAGES, "Ops that combine the gradients of the towers.")
flags.DEFINE_enum(
    "updates",
    "sync",
    UPDATES,
    "sync: one update from all towers' gradients; async: each tower applies its own at once.",
)
flags.DEFINE_boolean("pin_towers_to_cpu", False, "A fault of old programs: tf.device('/cpu:0') inside the tower loop.")
flags.DEFINE_boolean(
    "pin_backward", True, "With --pin_towers_to_cpu: backward passes are on the CPU too; else on the towers' devices."
)

FLAGS = flags.FLAGS


def options_from_flags(exact: bool, resident: bool = False) -> LegacyOptions:
    """Returns the options that the flags describe.

    Args:
      exact: see `LegacyOptions`.
      resident: whether the source gives one batch at every step, which the towers then hold unless --legacy_input says
        otherwise.
    """
    chosen = "resident" if resident and not FLAGS["legacy_input"].present else FLAGS.legacy_input
    return LegacyOptions(
        input=chosen,
        variables=FLAGS.legacy_variables,
        average=FLAGS.legacy_average,
        pin_towers_to_cpu=FLAGS.pin_towers_to_cpu,
        pin_backward=FLAGS.pin_backward,
        updates=FLAGS.updates,
        placement=FLAGS.placement,
        exact=exact,
        taps=taps_from_flags(FLAGS),
    )


def program_from_flags(job: Job, source: Source, devices: list[str], exact: bool) -> Program:
    """Makes the towers that the flags describe, for commands that run them alone.

    Args:
      job: the `Job`.
      source: the `Source` of its batches.
      devices: the device of each tower.
      exact: see `LegacyOptions`.

    Returns:
      the program.
    """
    from legacy import factory

    return factory.legacy_program(job, source, options_from_flags(exact, resident=source.fixed), devices)
