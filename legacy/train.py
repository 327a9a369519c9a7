"""`python -m legacy.train --workload=cifar_cnn --replicas=2 --steps=200`: train on towers in a session."""

from __future__ import annotations

from legacy import flags as legacy_flags
from workloads import train_main


def make_program(job, source, devices):
    """The towers that the flags say."""
    from legacy import programs

    options = legacy_flags.options_from_flags(exact=False, resident=source.fixed)
    return programs.program(job, source, options, devices)


def console():
    """Entry point."""
    train_main.run(make_program)


if __name__ == "__main__":
    console()
