"""`python -m tests.legacy.random_programs --count=200`: draws tower programs; lists the wrong lines of their pages.

With `--ports`, each program is lifted and written as source in both styles instead, and these are trained beside the
old graph. Exit status 0: all is right; 1: something is not. A wrong program is shown with the fewest traits that make
it so.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from workloads.support.machine import environment

environment.prepare(exact=True)

from tensorflow.compat import v1  # noqa: E402  TensorFlow must be prepared first

from modern.collectives.strategy import divide_cpu  # noqa: E402  TensorFlow must be prepared first
from tests.legacy.random_programs.faults import can_have, with_fault  # noqa: E402  TensorFlow must be prepared first
from tests.legacy.random_programs.pages import wrong_lines  # noqa: E402  TensorFlow must be prepared first
from tests.legacy.random_programs.ports import wrong_ports  # noqa: E402  TensorFlow must be prepared first
from tests.legacy.random_programs.traits import Traits, plainer, random_traits  # noqa: E402

#: What a comparison divides the processor into.
LOGICAL_CPUS = 8


def main() -> int:
    """Draws and checks programs; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="seed of the first program")
    parser.add_argument("--ports", action="store_true", help="compare lifts and sources with the old graph, bit by bit")
    parser.add_argument("--faults", action="store_true", help="each program has a fault, which its page must name")
    arguments = parser.parse_args()
    if arguments.ports:
        divide_cpu(LOGICAL_CPUS)
        v1.disable_control_flow_v2()
    check, wrong = wrong_ports if arguments.ports else wrong_lines, 0
    for seed in range(arguments.first, arguments.first + arguments.count):
        traits = with_fault(random_traits(seed), seed) if arguments.faults else random_traits(seed)
        if check(traits):
            wrong += 1
            traits = _plainest(traits, check)
            print(f"{seed}: {_described(traits)}")
            print("".join(f"    {line}\n" for line in check(traits)), end="", flush=True)
    print(f"{wrong} of {arguments.count} programs are wrong")
    return 1 if wrong else 0


def _plainest(traits: Traits, check: Callable[[Traits], list[str]]) -> Traits:
    """Takes traits away while something stays wrong."""
    for other in plainer(traits):
        if (other.fault == "none" or can_have(other, other.fault)) and check(other):
            return _plainest(other, check)
    return traits


def _described(traits: Traits) -> str:
    return (
        ", ".join(f"{name}={value}" for name, value in traits.__dict__.items() if value != getattr(Traits(), name))
        or "plain"
    )


if __name__ == "__main__":
    sys.exit(main())
