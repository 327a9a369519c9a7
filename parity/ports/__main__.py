"""`python -m parity.ports`: plain Keras 3 ports of three workloads, recorded and diagnosed against legacy.

Each is trained under MirroredStrategy from legacy's first weights on legacy's batches; the recordings are then
compared as `parity.diagnose` compares any two. Exit status 0: every known difference was named; 1: not.
"""

from __future__ import annotations

import importlib
import os
import tempfile
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from absl import flags

from parity import flags as parity_flags  # noqa: F401  --json
from workloads.support.command_line import command
from workloads.support.machine import environment

if TYPE_CHECKING:
    from rich.console import Console

    from parity.verdict.explanation import Explanation

NAMES = ("sigmoid_stack", "stacked_lstm", "resnet18")

flags.DEFINE_list("ports", list(NAMES), "Names of the ports.")
flags.DEFINE_integer("port_steps", 8, "Number of steps to record.", lower_bound=1)

FLAGS = flags.FLAGS


class PortDiagnosis(NamedTuple):
    """The diagnosis of one port.

    Attributes:
      name: the port's.
      expected: ids of the causes that must be named.
      explanation: the causes that were recognized.
    """

    name: str
    expected: Sequence[str]
    explanation: Explanation

    @property
    def named(self) -> list[str]:
        """Ids of the causes that were recognized."""
        return [entry.id for entry in self.explanation.recognized]

    @property
    def missed(self) -> list[str]:
        """Ids of the expected causes that were not recognized."""
        return [cause for cause in self.expected if cause not in self.named]

    def to_json(self) -> dict[str, Any]:
        """Returns the port's entry for `--json`."""
        from parity.reports.causes import causes_json

        return {
            "port": self.name,
            "expected": self.expected,
            "named": self.named,
            "missed": self.missed,
            **causes_json(*self.explanation),
        }


def diagnose_port(name: str, replicas: int, steps: int, folder: str) -> PortDiagnosis:
    """Records legacy and a port, and explains the difference.

    Args:
      name: one of `NAMES`.
      replicas: number of replicas.
      steps: number of steps to record.
      folder: an existing folder for the recordings.

    Returns:
      the diagnosis.
    """
    from modern.collectives import strategy
    from modern.options import ModernOptions
    from parity.comparison.setup import exact_setup
    from parity.ports.legacy_batches import LegacyBatches
    from parity.verdict.explanation import explain_recordings
    from workloads.job import Job
    from workloads.records.reader import Recording
    from workloads.records.record_program import record_program
    from workloads.sources import Synthetic

    port = importlib.import_module("parity.ports." + name)
    job = Job(port.WORKLOAD, replicas)
    setup = exact_setup(job, FLAGS.device)
    legacy_path, port_path = (os.path.join(folder, f"{name}_{side}.npz") for side in ("legacy", "port"))
    with setup.legacy_program() as program:
        initial = program.state()
        record_program(program, job, steps, legacy_path)
    mirrored = strategy.mirrored_strategy(setup.devices(), ModernOptions(all_reduce="auto"))
    port.train(port_path, mirrored, LegacyBatches(job, Synthetic(job)), initial, steps)
    with Recording(legacy_path) as left, Recording(port_path) as right:
        return PortDiagnosis(name, port.EXPECTED, explain_recordings(left, right))


def print_diagnosis(console: Console, diagnosis: PortDiagnosis) -> None:
    """Prints the causes of a port that were missed, and those that were named."""
    from parity.reports.causes import cause_lines
    from parity.reports.formatting import print_plain_lines

    missed = "missed " + ", ".join(diagnosis.missed) if diagnosis.missed else "all named"
    console.print(f"{diagnosis.name}: {missed}", style="bold")
    print_plain_lines(console, cause_lines(diagnosis.explanation.recognized, diagnosis.explanation.evidence))


def main() -> int:
    """Runs the command; returns its exit status."""
    command.require_each(FLAGS.ports, NAMES, "--ports")
    environment.prepare(exact=True)
    from parity.reports.formatting import make_console

    console = make_console()
    diagnoses = []
    with tempfile.TemporaryDirectory() as folder:
        for name in FLAGS.ports:
            diagnoses.append(diagnose_port(name, FLAGS.replicas or 2, FLAGS.port_steps, folder))
            print_diagnosis(console, diagnoses[-1])
    command.write_json({"ports": [diagnosis.to_json() for diagnosis in diagnoses]})
    return 1 if any(diagnosis.missed for diagnosis in diagnoses) else 0


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
