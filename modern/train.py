"""`python -m modern.train --workload=cifar_cnn --replicas=2 --steps=200`: train under a tf.distribute strategy."""

from __future__ import annotations

import functools

from modern import flags as modern_flags
from workloads import train_main


def console():
    """Entry point."""
    train_main.run(functools.partial(modern_flags.program_from_flags, exact=False))


if __name__ == "__main__":
    console()
