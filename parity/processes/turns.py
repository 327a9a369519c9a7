"""Turns of processes that share a machine: they prepare side by side, and each is timed while the others wait."""

from __future__ import annotations

import contextlib
import functools
import os
import time
from collections.abc import Iterator
from typing import TextIO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]  # checked by `SUPPORTED`

#: Whether this system has the locks that the turns are made of.
SUPPORTED = fcntl is not None

#: Environment variable that names the folder of a process's turns.
VARIABLE = "TOWER_PARITY_TURNS"

#: Seconds after a turn in which the next process that waits for its own can take it.
_HEAD_START = 0.05


class Turns:
    """A process's share of a machine. The process prepares from the beginning on, and between its turns alone.

    Two locks of files, which end with the process. Processes that prepare share the *machine*; one that is alone has it
    to itself. All pass the *gate* before: one that waits for the machine closes it, so that no other begins to prepare.

    Args:
      folder: one for all processes that take turns; None for a process that has the machine to itself.
    """

    def __init__(self, folder: str | None) -> None:
        self._locks: tuple[TextIO, TextIO] | None = None
        if folder is not None:
            self._locks = (open(os.path.join(folder, "gate"), "w"), open(os.path.join(folder, "machine"), "w"))
            self._prepare(*self._locks)

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Context in which no other of the processes prepares or is alone; waits until none does."""
        if self._locks is None:
            yield
            return
        gate, machine = self._locks
        fcntl.flock(machine, fcntl.LOCK_UN)
        fcntl.flock(gate, fcntl.LOCK_EX)
        fcntl.flock(machine, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(machine, fcntl.LOCK_UN)
            fcntl.flock(gate, fcntl.LOCK_UN)
            time.sleep(_HEAD_START)
            self._prepare(gate, machine)

    def _prepare(self, gate: TextIO, machine: TextIO) -> None:
        fcntl.flock(gate, fcntl.LOCK_EX)
        fcntl.flock(machine, fcntl.LOCK_SH)
        fcntl.flock(gate, fcntl.LOCK_UN)


@functools.lru_cache(maxsize=1)
def own_turns() -> Turns:
    """Returns this process's turns, which it takes from its first use of them on."""
    return Turns(os.environ.get(VARIABLE))
