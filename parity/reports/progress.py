"""Progress on stderr: a moving line on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import sys
import time

EVERY = 10.0  # seconds between lines where there is no terminal


class Progress:
    """`update(done, total, text)` shows how far `title` is; `done()` ends it."""

    def __init__(self, title):
        self._title = title
        self._start = self._last = time.monotonic()
        self._terminal = sys.stderr.isatty()

    def update(self, done, total, text=""):
        """Shows `done` of `total`, at most ten times a second on a terminal."""
        now = time.monotonic()
        if now - self._last < (0.1 if self._terminal else EVERY) and done < total:
            return
        if not self._terminal and now - self._start < EVERY:
            return
        self._last = now
        line = f"{self._title}: {done}/{total} {now - self._start:.0f} s {text}"
        sys.stderr.write("\r\x1b[K" + line if self._terminal else line + "\n")
        sys.stderr.flush()

    def done(self):
        """Clears the moving line."""
        if self._terminal:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
