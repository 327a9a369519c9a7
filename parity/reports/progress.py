"""Progress on stderr: a moving line on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import sys
import time

#: Seconds between two lines where there is no terminal, and on a terminal.
EVERY, EVERY_ON_TERMINAL = 10.0, 0.1

_CLEAR_LINE = "\r\x1b[K"


class Progress:
    """Progress of one piece of work; nothing is shown of work that ends within `EVERY` seconds without a terminal.

    Args:
      title: begins each line.
    """

    def __init__(self, title: str) -> None:
        self._title = title
        self._start = self._last = time.monotonic()
        self._terminal = sys.stderr.isatty()

    def update(self, done: int, total: int, text: str = "") -> None:
        """Shows how much is done, if enough time has passed since the last line or if all is done.

        Args:
          done: number of steps, runs or trials done.
          total: number of them in all.
          text: ends the line.
        """
        now = time.monotonic()
        if now - self._last < (EVERY_ON_TERMINAL if self._terminal else EVERY) and done < total:
            return
        if not self._terminal and now - self._start < EVERY:
            return
        self._last = now
        line = f"{self._title}: {done}/{total} {now - self._start:.0f} s {text}"
        sys.stderr.write(_CLEAR_LINE + line if self._terminal else line + "\n")
        sys.stderr.flush()

    def done(self) -> None:
        """Clears the moving line."""
        if self._terminal:
            sys.stderr.write(_CLEAR_LINE)
            sys.stderr.flush()
