"""`python -m legacy.record --workload=regression --steps=20 --out=run.npz`: record the steps of a tower run.

Runs the towers in *this* interpreter's TensorFlow (1.15 on Python 3.7 works) and writes every step's batch
digests, losses, gradients, learning rate, weights, slots and statistics, for `parity.verify --recording` and
`parity.diagnose`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from legacy import flags as legacy_flags
from workloads.records import flags as record_flags
from workloads.support.command_line import command

if TYPE_CHECKING:
    from workloads.job import Job
    from workloads.program import Program
    from workloads.sources import Source


def make_program(job: Job, source: Source, devices: list[str]) -> Program:
    """Makes the towers that the flags describe, with exact kernels.

    Args:
      job: the `Job`.
      source: the `Source` of its batches.
      devices: the device of each tower.

    Returns:
      the program.
    """
    from legacy import factory

    options = legacy_flags.options_from_flags(exact=True, resident=source.fixed)
    return factory.legacy_program(job, source, options, devices)


def main() -> int:
    """Records the run."""
    return record_flags.record_from_flags(make_program)


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
