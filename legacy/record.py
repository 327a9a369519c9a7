"""`python -m legacy.record --workload=regression --steps=20 --out=run.npz`: record the steps of a tower run.

Runs the towers in *this* interpreter's TensorFlow (1.15 on Python 3.7 works) and writes every step's batch
digests, losses, gradients, learning rate, weights, slots and statistics, for `parity.verify --recording` and
`parity.diagnose`.
"""

from __future__ import annotations

import functools

from legacy import flags as legacy_flags
from workloads.records import flags as record_flags
from workloads.support.command_line import command


def main() -> int:
    """Records the run."""
    return record_flags.record_from_flags(functools.partial(legacy_flags.program_from_flags, exact=True))


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
