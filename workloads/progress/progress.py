"""`Progress`: how far a piece of work is, shown on the command's display."""

from __future__ import annotations

import time
from typing import List, Optional

from workloads.progress import display
from workloads.progress.bar import Rate, bar_text, duration_text, rate_text


class Progress(display.Activity):
    """Progress of one piece of work: a stage of unknown length, or a number of steps, some of which are done.

    Args:
      title: begins each line.
      unit: what is counted, in the singular, for the rate; None where the count mixes several things: no rate.
    """

    def __init__(self, title: str, unit: Optional[str] = "step") -> None:
        super().__init__(title)
        self._unit = unit
        self._rate = Rate()
        self._done, self._total, self._text, self._loss = 0, 0, "", None  # type: int, int, str, Optional[float]
        self._details = ""

    def stage(self, text: str, at_once: bool = False) -> None:
        """Shows that something begins which is not counted, such as "building the towers".

        Args:
          text: what it is.
          at_once: without a terminal too, before any silence.
        """
        self._total, self._text, self.start, self._details = 0, text, time.monotonic(), ""
        display.show(self, at_once)

    def update(self, done: int, total: int, text: str = "", loss: Optional[float] = None, details: str = "") -> None:
        """Shows how much is done.

        Args:
          done: number of units done.
          total: number of them in all.
          text: ends the line.
          loss: of the last step.
          details: a second line on a terminal.
        """
        if not self._total:
            self.start = time.monotonic()
        self._done, self._total, self._text, self._loss, self._details = done, total, text, loss, details
        self._rate.add(time.monotonic(), done)
        display.show(self)

    def note(self, text: str) -> None:
        """Changes the text that ends the line, as work within a stage or step goes on; shown when it is next drawn."""
        self._text = text

    def done(self) -> None:
        """Ends the work: it is shown no more."""
        display.show(None)

    def line(self, now: float) -> str:
        if not self._total:
            seconds = now - self.start
            return f"{self.title}: {self._text}" + (f", {duration_text(seconds)}" if seconds >= 1 else "")
        return f"{self.title}: {self._done} of {self._total}" + "".join(f", {part}" for part in self._parts())

    def lines(self, now: float, plain: bool) -> List[str]:
        if not self._total:
            return [f"{self.title}  {self._text}  {duration_text(now - self.start)}"]
        bar = bar_text(self._done, self._total, plain)
        first = "  ".join([self.title, bar, f"{self._done}/{self._total}", *self._parts()])
        return [first, "  " + self._details] if self._details else [first]

    def _parts(self) -> List[str]:
        """Returns the rate, the time left and the loss, as far as they are known, and the text."""
        rate, left = self._rate.per_second, self._rate.seconds_left(self._done, self._total)
        parts = [] if rate is None or self._unit is None else [rate_text(rate, self._unit)]
        parts += [] if left is None or self._done >= self._total else [duration_text(left) + " left"]
        parts += [] if self._loss is None else [f"loss {self._loss:.6g}"]
        return parts + ([self._text] if self._text else [])
