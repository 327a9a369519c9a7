"""Legacy: how the tower graph is built."""

from __future__ import annotations

from absl import flags

from legacy.options import AVERAGES, INPUTS, UPDATES, VARIABLES, LegacyOptions

flags.DEFINE_string("legacy_input", "feed", "How towers get their batches: " + ", ".join(INPUTS) + ".")
flags.DEFINE_string(
    "legacy_variables", "cpu", "Where variables are: " + ", ".join(VARIABLES) + " (the first tower's device)."
)
flags.DEFINE_string("legacy_average", "stack", "How gradients are combined: " + ", ".join(AVERAGES) + ".")
flags.DEFINE_string("updates", "sync", "When gradients are applied: " + ", ".join(UPDATES) + " (each tower its own).")
flags.DEFINE_boolean("pin_towers_to_cpu", False, "System 1's fault: tf.device('/cpu:0') inside the tower loop.")

FLAGS = flags.FLAGS


def options_from_flags(exact, resident=False):
    """The `LegacyOptions` that the flags say; `resident` sources are held on the towers unless a flag differs."""
    chosen = "resident" if resident and not FLAGS["legacy_input"].present else FLAGS.legacy_input
    return LegacyOptions(
        input=chosen,
        variables=FLAGS.legacy_variables,
        average=FLAGS.legacy_average,
        pin_towers_to_cpu=FLAGS.pin_towers_to_cpu,
        updates=FLAGS.updates,
        placement=FLAGS.placement,
        exact=exact,
    )
