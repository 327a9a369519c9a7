"""`python -m tests.legacy.random_programs --count=200`: draws tower programs; lists the wrong lines of their pages.

Exit status 0: every page is right; 1: at least one is not. A wrong page is shown with the fewest traits that make it.
"""

from __future__ import annotations

import argparse
import sys

from workloads.support.machine import environment

environment.prepare(exact=False)

from tests.legacy.random_programs.faults import can_have, with_fault  # noqa: E402  TensorFlow must be prepared first
from tests.legacy.random_programs.pages import wrong_lines  # noqa: E402  TensorFlow must be prepared first
from tests.legacy.random_programs.traits import Traits, plainer, random_traits  # noqa: E402


def main() -> int:
    """Draws and checks programs; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="seed of the first program")
    parser.add_argument("--faults", action="store_true", help="each program has a fault, which its page must name")
    arguments = parser.parse_args()
    wrong = 0
    for seed in range(arguments.first, arguments.first + arguments.count):
        traits = with_fault(random_traits(seed), seed) if arguments.faults else random_traits(seed)
        if wrong_lines(traits):
            wrong += 1
            traits = _plainest(traits)
            print(f"{seed}: {_described(traits)}")
            print("".join(f"    {line}\n" for line in wrong_lines(traits)), end="", flush=True)
    print(f"{wrong} of {arguments.count} pages are wrong")
    return 1 if wrong else 0


def _plainest(traits: Traits) -> Traits:
    """Takes traits away while the page stays wrong."""
    for other in plainer(traits):
        if (other.fault == "none" or can_have(other, other.fault)) and wrong_lines(other):
            return _plainest(other)
    return traits


def _described(traits: Traits) -> str:
    return (
        ", ".join(f"{name}={value}" for name, value in traits.__dict__.items() if value != getattr(Traits(), name))
        or "plain"
    )


if __name__ == "__main__":
    sys.exit(main())
