"""The last line that a process printed."""

from __future__ import annotations

import os
import threading
from multiprocessing.connection import Connection

#: Seconds to wait for the end of what an ended process printed.
PATIENCE = 5.0


class LastLine:
    """The last line that came through a pipe, read by a thread of its own; no more than `LONGEST` bytes are kept.

    Args:
      pipe: the end to read from.
    """

    LONGEST = 2000

    def __init__(self, pipe: Connection) -> None:
        self._tail = b""
        self._thread = threading.Thread(target=self._collect, args=(pipe,), daemon=True)
        self._thread.start()

    def read(self) -> str:
        """Waits for the pipe's end, `PATIENCE` seconds at most, and returns the last line, "" if nothing came."""
        self._thread.join(PATIENCE)
        lines = self._tail.decode("utf-8", "replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def _collect(self, pipe: Connection) -> None:
        for part in iter(lambda: os.read(pipe.fileno(), 1 << 16), b""):
            self._tail = (self._tail + part)[-self.LONGEST :]
        pipe.close()
