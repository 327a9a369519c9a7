"""`python -m parity.causes > docs/causes.md`: the catalogue as a page."""

from __future__ import annotations

import sys

from workloads.support import command

INTRO = """# Causes

What `parity.verify` and `parity.diagnose` name when a port does not train as its towers did. N is the number of
replicas, b and B the per-replica and global batch, l a rate of weight decay; g_i is one replica's gradient of its own
mean loss. This page is written by `python -m parity.causes`; rules and the faults that prove them stand side by side in
`parity/causes/`.

How sure a name is: **high**, a clean fit that nothing else in the catalogue makes; **medium**, a clean fit that
something else could make too, and the report says what; **low**, it looks like this. If nothing fits, nothing is named.
"""


def page(causes):
    """The page as text."""
    parts = [INTRO]
    for cause in causes:
        faults = ", ".join(f"`{fault.name}`" for fault in cause.faults)
        parts.append(
            "## {}\n\n{}{}. Stage: {}.{}\n\n* **Signature**: {}.\n* **Why**: {}\n* **Fix**: {}\n{}".format(
                cause.id,
                cause.title[0].upper() + cause.title[1:],
                "" if cause.bug else " (no bug)",
                cause.stage,
                f" Rule {cause.rules}." if cause.rules else "",
                cause.signature.rstrip("."),
                cause.why,
                cause.fix,
                f"* **Planted as**: {faults}\n" if faults else "",
            )
        )
    return "\n".join(parts)


def main():
    from parity.causes import catalogue, speed

    sys.stdout.write(page(catalogue.CAUSES + speed.CAUSES))


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
