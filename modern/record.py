"""`python -m modern.record --workload=regression --replicas=2 --steps=20 --out=port.npz`: write the port's records.

As `legacy.record` does for the towers; `parity.diagnose` tells why two recordings differ.
"""

from __future__ import annotations

from modern import flags as modern_flags
from workloads import record_main


def make_program(job, source, devices):
    """The port that the flags say, with exact kernels."""
    from modern import programs, strategy

    if devices[0].startswith("CPU"):
        strategy.divide_cpu(len(devices))
    return programs.program(job, source, modern_flags.options_from_flags(exact=True), devices)


def console():
    """Entry point."""
    record_main.run(make_program)


if __name__ == "__main__":
    console()
