"""`python -m legacy.record --workload=regression --replicas=2 --steps=20 --out=run.npz`: write a run's records.

Runs the towers in *this* interpreter's TensorFlow (1.15 on Python 3.7 works) and writes every step's batch
digests, losses, gradients, learning rate, weights, slots and statistics, for `parity.verify --recording` and
`parity.diagnose`.
"""

from __future__ import annotations

from legacy import flags as legacy_flags
from workloads.records import flags as record_flags
from workloads.support import command


def make_program(job, source, devices):
    """The towers that the flags say, with exact kernels."""
    from legacy import factory

    options = legacy_flags.options_from_flags(exact=True, resident=source.fixed)
    return factory.program(job, source, options, devices)


def main():
    record_flags.record_from_flags(make_program)


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
