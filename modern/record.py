"""`python -m modern.record --workload=regression --replicas=2 --steps=20 --out=port.npz`: write the port's records.

As `legacy.record` does for the towers; `parity.diagnose` tells why two recordings differ.
"""

from __future__ import annotations

import functools

from modern import flags as modern_flags
from workloads.records import command


def console():
    """Entry point."""
    command.run(functools.partial(modern_flags.program_from_flags, exact=True))


if __name__ == "__main__":
    console()
