"""`python -m modern.record --workload=regression --replicas=2 --steps=20 --out=port.npz`: record the steps of the port.

`legacy.record` does the same for the towers; `parity.diagnose` names the cause of a difference between two recordings.
"""

from __future__ import annotations

import functools

from modern import flags as modern_flags
from workloads.records import flags as record_flags
from workloads.support.command_line import command


def main() -> int:
    """Records the run."""
    return record_flags.record_from_flags(functools.partial(modern_flags.program_from_flags, exact=True))


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
