"""Processes that a process has started, and whether they end with it."""

from __future__ import annotations

import contextlib
import os
import select
import time


class Descendants:
    """All descendants of a process at this moment, held by pidfds, which no other process can take over.

    Args:
      pid: the process. On a system without /proc and process descriptors it has none here.
    """

    def __init__(self, pid: int) -> None:
        self._open: dict[int, int] = {}
        if hasattr(os, "pidfd_open"):
            for below in _pids_below(pid):
                with contextlib.suppress(OSError):  # it has ended
                    self._open[below] = os.pidfd_open(below)

    def running_after(self, seconds: float) -> list[int]:
        """Waits for their ends and returns those that still run when the time is over; closes the descriptors."""
        end = time.monotonic() + seconds
        running = []
        for pid, descriptor in self._open.items():
            if not select.select([descriptor], [], [], max(0.0, end - time.monotonic()))[0]:
                running.append(pid)
            os.close(descriptor)
        self._open.clear()
        return running


def _pids_below(pid: int) -> list[int]:
    found: list[int] = []
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            children = [int(text) for text in file.read().split()]
    except OSError:
        return found
    for child in children:
        found += [child, *_pids_below(child)]
    return found
