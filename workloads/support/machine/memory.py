"""Memory of the machine, or of the container that a process is in."""

from __future__ import annotations

import contextlib
import os

#: Where Linux tells the limit of a container, by version 2 of its control groups and by version 1.
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def total_bytes(limits: tuple[str, ...] = _LIMITS) -> int:
    """Returns the bytes of memory that all processes here may have together.

    Args:
      limits: files with the limit of a container, of which those that are there count.

    Returns:
      The machine's memory, or the container's limit if it is less.
    """
    found = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for path in limits:
        with contextlib.suppress(OSError, ValueError), open(path) as file:  # "max" where there is no limit
            found = min(found, int(file.read()))
    return found
