"""`python -m modern.train --workload=cifar_cnn --replicas=2 --steps=200`: train under a tf.distribute strategy."""

from __future__ import annotations

from modern import flags as modern_flags
from workloads import train_main


def make_program(job, source, devices):
    """The port that the flags say."""
    from modern import programs, strategy

    if devices[0].startswith("CPU"):
        strategy.divide_cpu(len(devices))
    return programs.program(job, source, modern_flags.options_from_flags(exact=False), devices)


def console():
    """Entry point."""
    train_main.run(make_program)


if __name__ == "__main__":
    console()
