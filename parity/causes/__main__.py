"""`python -m parity.causes > docs/causes.md`: prints the catalogue as a page."""

from __future__ import annotations

import sys

from workloads.support.command_line import command


def main() -> None:
    """Prints the page."""
    from parity.causes import catalogue, speed
    from parity.causes.page import causes_page

    sys.stdout.write(causes_page(catalogue.CAUSES + speed.CAUSES))


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
