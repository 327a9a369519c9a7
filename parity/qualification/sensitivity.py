"""`python -m parity.sensitivity`: the smallest scale error that is detected, stage by stage.

Everything of one stage is multiplied by 1 + e in the port, e smaller and smaller, and the result verified with
--tolerance=auto, each step from legacy's state. Prints the smallest e that was found, in float32 and float64.
"""

from __future__ import annotations

from absl import flags

from parity import flags as parity_flags  # noqa: F401  --json
from workloads.selection import registry
from workloads.support import command, environment

flags.DEFINE_list("sensitivity_workloads", ["cifar_cnn", "regression"], "Which workloads.")
flags.DEFINE_integer("sensitivity_replicas", 2, "At how many replicas.", lower_bound=2)

FLAGS = flags.FLAGS

STEPS = 4
#: Must be found: an all-tensors factor of the gradients.
REQUIRED = {"float32": 1e-5, "float64": 1e-12}


def changes(e):
    """{stage: `injection.Change`} that multiplies it by 1 + e."""
    import numpy as np

    from parity.causes import injection
    from parity.causes.learning_rate import ScaledSchedule
    from parity.comparison import stages

    class Gradients(injection.ScaledStep):
        def _forward_backward(self, local, step, replica, batch):
            loss, gradients, *rest = super()._forward_backward(local, step, replica, batch)
            return (loss, {name: value * (1.0 + e) for name, value in gradients.items()}, *rest)

    class Combined(injection.ScaledStep):
        def _combine(self, context, gradients):
            return {name: value * (1.0 + e) for name, value in super()._combine(context, gradients).items()}

    def scaled(kind):
        def change(record):
            values = getattr(record.state, kind)
            setattr(record.state, kind, {n: np.asarray(v * (1.0 + e), v.dtype) for n, v in values.items()})

        return injection.in_records(change)

    def losses(record):
        record.losses = [np.asarray(loss * (1.0 + e), loss.dtype) for loss in record.losses]

    return {
        stages.LOSS: injection.in_records(losses),
        stages.GRADIENTS: injection.in_replica_step(Gradients),
        stages.COMBINED: injection.in_replica_step(Combined),
        stages.RATE: injection.in_workload(lambda job: {"learning_rate": ScaledSchedule(job.workload.learning_rate, 1.0 + e)}),
        stages.WEIGHTS: scaled("weights"),
        stages.SLOTS: scaled("slots"),
        stages.STATISTICS: scaled("statistics"),
        stages.AVERAGES: scaled("averages"),
    }


def detected(name, replicas, dtype, stage, e):
    """Whether the scale error is found; None where the workload has nothing of that stage."""
    from legacy.options import LegacyOptions
    from modern.options import ModernOptions
    from parity.comparison import stages
    from parity.comparison.setup import Setup
    from parity.comparison.verification import verify
    from workloads import sources
    from workloads.job import Job

    job = Job(registry.get(name), replicas, dtype=dtype)
    setup = Setup(job, sources.Synthetic, LegacyOptions(exact=True), ModernOptions(exact=True), "cpu")
    with setup.legacy_program() as left, changes(e)[stage](setup) as right, setup.closing_noise_floor() as floor:
        state = left.state()
        if not {stages.SLOTS: state.slots, stages.STATISTICS: state.statistics, stages.AVERAGES: state.averages}.get(
            stage, True
        ):
            return None
        return not verify(left, right, job, STEPS, "locked", "auto", None, floor).passed


def smallest(name, replicas, dtype, stage):
    """The smallest power of ten, or three tenths of it, that is detected; None if there is nothing of the stage.

    What is found is found at any larger error too, so the exponents are halved.
    """
    seen, missed = 1, 17
    if detected(name, replicas, dtype, stage, 10.0**-seen) is None:
        return None
    while missed - seen > 1:
        middle = (seen + missed) // 2
        if detected(name, replicas, dtype, stage, 10.0**-middle):
            seen = middle
        else:
            missed = middle
    third = 0.3 * 10.0**-seen
    return third if detected(name, replicas, dtype, stage, third) else 10.0**-seen


def main():
    command.require_each(FLAGS.sensitivity_workloads, registry.NAMES, "--sensitivity_workloads")
    environment.prepare(exact=True)
    from rich.table import Table

    from parity.comparison import stages
    from parity.reports import formatting

    rows, table = [], Table(title="smallest relative scale error that is detected", title_justify="left")
    for heading in ("workload", "stage", "float32", "float64"):
        table.add_column(heading)
    for name in FLAGS.sensitivity_workloads:
        for stage in changes(0.0):
            found = {d: smallest(name, FLAGS.sensitivity_replicas, d, stage) for d in REQUIRED}
            if any(value is not None for value in found.values()):
                rows.append({"workload": name, "stage": stage, **found})
                table.add_row(name, stage, *[formatting.format_number(found[dtype]) for dtype in REQUIRED])
    formatting.make_console().print(table)
    command.write_json({"replicas": FLAGS.sensitivity_replicas, "stages": rows})
    missed = [
        r for r in rows if r["stage"] == stages.GRADIENTS and any(r[d] is None or r[d] > REQUIRED[d] for d in REQUIRED)
    ]
    return 1 if missed else 0


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
