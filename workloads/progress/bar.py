"""Texts of a display: a bar, durations, and the rate and time left of steps that are being taken."""

from __future__ import annotations

import collections

#: Cells of a bar.
CELLS = 24

#: Seconds of steps that the present rate is measured over: the first ones trace, and later ones may be slower.
WINDOW = 20.0


def bar_text(done: int, total: int, plain: bool = False) -> str:
    """Returns a bar of `CELLS` cells.

    >>> bar_text(6, 24), bar_text(1, 2, plain=True)
    ('━━━━━━──────────────────', '############............')

    Args:
      done: number of steps done.
      total: number of them in all.
      plain: in ASCII.

    Returns:
      the bar.
    """
    full = CELLS * min(done, total) // max(total, 1)
    return ("#" if plain else "━") * full + ("." if plain else "─") * (CELLS - full)


def duration_text(seconds: float) -> str:
    """Returns a duration in two units at most.

    >>> duration_text(7.4), duration_text(125), duration_text(7500)
    ('7 s', '2 min 5 s', '2 h 5 min')
    """
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole // 60 % 60} min"


def rate_text(rate: float, unit: str = "step") -> str:
    """Returns a rate in units a second, or in seconds a unit where that is the larger number.

    >>> rate_text(12.34), rate_text(1234.0), rate_text(0.25, "run")
    ('12.3 steps/s', '1234 steps/s', '4.0 s/run')

    Args:
      rate: units a second.
      unit: what is counted, in the singular.

    Returns:
      the text.
    """
    if rate < 1:
        return f"{1 / rate:.1f} s/{unit}"
    return f"{rate:.0f} {unit}s/s" if rate >= 100 else f"{rate:.1f} {unit}s/s"


class Rate:
    """Rate of steps over the last `WINDOW` seconds.

    >>> rate = Rate()
    >>> for second, done in enumerate([1, 3, 5]):
    ...     rate.add(float(second), done)
    >>> rate.per_second, rate.seconds_left(5, 25)
    (2.0, 10.0)
    """

    def __init__(self) -> None:
        self._seen: collections.deque[tuple[float, int]] = collections.deque()

    def add(self, now: float, done: int) -> None:
        """Adds that `done` steps are done at the time `now`, in seconds."""
        if self._seen and done < self._seen[-1][1]:
            self._seen.clear()  # other steps
        self._seen.append((now, done))
        while len(self._seen) > 2 and now - self._seen[1][0] >= WINDOW:
            self._seen.popleft()

    @property
    def per_second(self) -> float | None:
        """Steps a second; None before there are two numbers to tell it from."""
        if len(self._seen) < 2 or self._seen[-1][1] == self._seen[0][1]:
            return None
        (start, first), (end, last) = self._seen[0], self._seen[-1]
        return (last - first) / max(end - start, 1e-9)

    def seconds_left(self, done: int, total: int) -> float | None:
        """Returns the seconds that the rest takes at this rate; None where the rate is not known.

        Args:
          done: number of steps done.
          total: number of them in all.
        """
        rate = self.per_second
        return None if rate is None else (total - done) / rate
