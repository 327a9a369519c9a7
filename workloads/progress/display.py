"""`Display`: the lines on stderr that say what a command is doing, and the thread that keeps them up to date.

On a terminal the lines are drawn over each other, and what the command prints is written above them. Elsewhere, as in a
pipe or a file, a line is written when nothing has been for a while.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, List, Optional, TextIO

#: Seconds of silence before a line, without a terminal: at the start of a command, and later.
FIRST, EVERY = 1.5, 10.0

#: Seconds between two drawings on a terminal.
EVERY_ON_TERMINAL = 0.2

#: Environment variable: "lines" asks for lines on a terminal too, "none" for nothing.
VARIABLE, LINES, NONE = "TOWER_PARITY_PROGRESS", "lines", "none"

#: Columns and lines where the terminal does not say how many it has.
SIZE = (100, 24)


class Activity:
    """A piece of work that takes time, as a display shows it.

    Args:
      title: of what, such as the command's name.
    """

    def __init__(self, title: str) -> None:
        self.title, self.start = title, time.monotonic()

    def line(self, now: float) -> str:
        """Returns it in one line, at the time `now` of `time.monotonic`."""
        return f"{self.title}: running"

    def lines(self, now: float, plain: bool) -> List[str]:
        """Returns it as it is drawn on a terminal, in ASCII if `plain`."""
        return [self.line(now)]


class Display:
    """Shows one activity at a time.

    Args:
      write: writes a text to stderr.
      terminal: whether that is a terminal.
      activity: that is shown where no other is.
      plain: the terminal takes ASCII only.
    """

    def __init__(self, write: Callable[[str], object], terminal: bool, activity: Activity, plain: bool = False) -> None:
        self.terminal, self.start = terminal, time.monotonic()
        self._write, self._plain, self._base = write, plain, activity
        self._activity, self._drawn, self._last = activity, 0, self.start - EVERY + FIRST
        self._is_at_line_start = True
        self._lock = threading.RLock()

    def show(self, activity: Optional[Activity], at_once: bool = False) -> None:
        """Shows an activity from now on; None for the command as such.

        Args:
          activity: the activity.
          at_once: without a terminal too, before any silence.
        """
        with self._lock:
            activity = activity or self._base
            changed, self._activity = activity is not self._activity, activity
            self.tick(at_once or (self.terminal and changed))

    def tick(self, at_once: bool = False) -> None:
        """Draws the activity on a terminal; writes its line elsewhere if it is time for one, or `at_once`."""
        with self._lock:
            now = time.monotonic()
            if self.terminal:
                if at_once or now - self._last >= EVERY_ON_TERMINAL:
                    self._draw(now)
            elif at_once or now - self._last >= EVERY:
                self._last = now
                self._write(f"[{now - self.start:3.0f} s] {self._activity.line(now)}\n")

    def clear(self) -> None:
        """Removes what is drawn."""
        with self._lock:
            if self._drawn:
                up = f"\x1b[{self._drawn - 1}A" if self._drawn > 1 else ""
                self._write("\r" + up + "\x1b[J")
            self._drawn = 0

    def printed(self, text: str) -> None:
        """Notes that the command has printed `text`: drawings wait until its line ends."""
        with self._lock:
            if text:
                self._last, self._is_at_line_start = time.monotonic(), text.endswith("\n")

    @contextlib.contextmanager
    def printing(self) -> Iterator[None]:
        """Context in which the command prints something: nothing is drawn."""
        with self._lock:
            self.clear()
            yield

    def _draw(self, now: float) -> None:
        if not self._is_at_line_start or (self._activity is self._base and now - self.start < FIRST):
            return
        columns = shutil.get_terminal_size(SIZE).columns
        lines = [line[: columns - 1] for line in self._activity.lines(now, self._plain)]
        self.clear()
        self._write("\n".join(lines))
        self._last, self._drawn = now, len(lines)


class _Stream:
    """Standard output or error of a command with a display, which is cleared before anything is printed."""

    def __init__(self, stream: TextIO, display: Display) -> None:
        self._stream, self._display = stream, display

    def write(self, text: str) -> int:
        with self._display.printing():
            written = self._stream.write(text)
            if self._display.terminal:
                self._stream.flush()
            self._display.printed(text)
        return written

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


#: Streams whose text is written above the display.
STREAMS = ("stdout", "stderr")


class _Session:
    """The display of this process: its thread, and the streams in whose place it stands."""

    def __init__(self, title: str) -> None:
        self._descriptor = os.dup(sys.stderr.fileno())  # which stays where TensorFlow's own lines are discarded
        self._plain = "utf" not in (getattr(sys.stderr, "encoding", "") or "").lower()
        terminal = os.isatty(self._descriptor) and os.environ.get(VARIABLE) != LINES
        self.display = Display(self._write, terminal, Activity(title), self._plain)
        self._streams = {name: (getattr(sys, name), _Stream(getattr(sys, name), self.display)) for name in STREAMS}
        for name, (_, own) in self._streams.items():
            setattr(sys, name, own)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep_up_to_date, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Removes the drawing, and restores the streams."""
        self._ended.set()
        self._thread.join()
        for name, (before, own) in self._streams.items():
            if getattr(sys, name) is own:  # and not a stream that the command has put there
                setattr(sys, name, before)
        self.display.clear()
        os.close(self._descriptor)

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError):  # whoever read it has gone
            os.write(self._descriptor, text.encode("ascii" if self._plain else "utf-8", "replace"))

    def _keep_up_to_date(self) -> None:
        while not self._ended.wait(EVERY_ON_TERMINAL):
            self.display.tick()


_session: Optional[_Session] = None


def show(activity: Optional[Activity], at_once: bool = False) -> None:
    """Shows an activity on the command's display; nothing where there is none, as in a test or a worker.

    Args:
      activity: the activity; None for the command as such.
      at_once: without a terminal too, before any silence.
    """
    if _session is not None:
        _session.display.show(activity, at_once)


def is_on() -> bool:
    """Returns whether this process has a display."""
    return _session is not None


@contextlib.contextmanager
def displayed(title: str) -> Iterator[None]:
    """Context in which this process, a command, has a display, if it has a stderr.

    Args:
      title: the command's name.
    """
    global _session
    end()
    with contextlib.suppress(AttributeError, OSError, ValueError):
        _session = _Session(title) if os.environ.get(VARIABLE) != NONE else None
    try:
        yield
    finally:
        end()


def end() -> None:
    """Ends this process's display, if it has one; before a fork, whose child starts its own."""
    global _session
    if _session is not None:
        _session.end()
        _session = None
