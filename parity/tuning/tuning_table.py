"""Table of `python -m parity.tune`: each setting that was tried, and the gain of the best ones."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table

from parity.speed.ratio import SpeedRatio
from parity.tuning.search import SearchResult


def tuning_table(result: SearchResult, title: str) -> Table:
    """Returns a table with a row for each value that was tried."""
    table = Table(title=title, title_justify="left")
    for heading in ("knob", "settings", "parity", "speed over the best before, 95 %", ""):
        table.add_column(heading, overflow="fold")
    for trial in result.trials:
        gain = "-" if trial.gain is None else gain_text(trial.gain)
        parity = trial.verdict if trial.gain is None else "[green]yes[/]"
        table.add_row(trial.knob, trial.settings.command_line(), parity, gain, "kept" if trial.kept else "")
    return table


def tuning_lines(result: SearchResult) -> Iterator[str]:
    """Yields the result in sentences."""
    if result.gain is None:
        yield "no setting is faster than the defaults beyond doubt"
        return
    yield f"best settings: {gain_text(result.gain)} times the defaults' speed, 95 %, measured anew"
    yield f"to repeat: {result.best.command_line()}"


def gain_text(gain: SpeedRatio) -> str:
    """Returns a gain with its interval.

    >>> gain_text(SpeedRatio(1.25, 1.125, 1.5, 0))
    '1.25 [1.12, 1.50]'
    """
    return f"{gain.median:.2f} [{gain.low:.2f}, {gain.high:.2f}]"
