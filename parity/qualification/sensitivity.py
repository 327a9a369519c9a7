"""`python -m parity.sensitivity`: measures the smallest scale error that is detected, stage by stage.

Everything of one stage is multiplied by 1 + e in the port, e smaller and smaller, and the result verified with
--tolerance=auto, each step from legacy's state. Prints the smallest e that was detected, in float32 and float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from absl import flags

from parity import flags as parity_flags  # noqa: F401  --json
from workloads.selection import registry
from workloads.support.command_line import command
from workloads.support.machine import environment

if TYPE_CHECKING:
    from rich.table import Table

flags.DEFINE_list("sensitivity_workloads", ["cifar_cnn", "regression"], "Names of the workloads.")
flags.DEFINE_integer("sensitivity_replicas", 2, "Number of replicas.", lower_bound=2)

FLAGS = flags.FLAGS

#: {dtype: the error of all gradients together that must be detected}.
REQUIRED = {"float32": 1e-5, "float64": 1e-12}


class DetectionLimit(NamedTuple):
    """The smallest detected scale errors of one stage of a workload: {dtype: error}, None where there is nothing."""

    workload: str
    stage: str
    errors: dict[str, float | None]

    def meets_requirement(self) -> bool:
        """Returns whether the required errors are detected; only gradients have a requirement."""
        from parity.comparison import stages

        if self.stage != stages.GRADIENTS:
            return True
        found = [(self.errors[dtype], required) for dtype, required in REQUIRED.items()]
        return all(error is not None and error <= required for error, required in found)

    def to_json(self) -> dict[str, Any]:
        """Returns the row for `--json`."""
        return {"workload": self.workload, "stage": self.stage, **self.errors}


def measure_limits(workload_names: Sequence[str], replicas: int) -> list[DetectionLimit]:
    """Measures the detection limits of all stages that the workloads have."""
    from parity.experiments import detection_limits

    limits = []
    for name in workload_names:
        for stage in detection_limits.scale_changes(0.0):
            errors = {d: detection_limits.smallest_detected_error(name, replicas, d, stage) for d in REQUIRED}
            if any(error is not None for error in errors.values()):
                limits.append(DetectionLimit(name, stage, errors))
    return limits


def limits_table(limits: Sequence[DetectionLimit]) -> Table:
    """Returns a table with one row per workload and stage."""
    from rich.table import Table

    from parity.reports.formatting import format_number

    table = Table(title="smallest relative scale error that is detected", title_justify="left")
    for heading in ("workload", "stage", *REQUIRED):
        table.add_column(heading)
    for limit in limits:
        table.add_row(limit.workload, limit.stage, *[format_number(limit.errors[dtype]) for dtype in REQUIRED])
    return table


def main() -> int:
    """Runs the command; returns its exit status."""
    command.require_each(FLAGS.sensitivity_workloads, registry.NAMES, "--sensitivity_workloads")
    environment.prepare(exact=True)
    from parity.reports.formatting import make_console

    limits = measure_limits(FLAGS.sensitivity_workloads, FLAGS.sensitivity_replicas)
    make_console().print(limits_table(limits))
    command.write_json({"replicas": FLAGS.sensitivity_replicas, "stages": [limit.to_json() for limit in limits]})
    return 0 if all(limit.meets_requirement() for limit in limits) else 1


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
