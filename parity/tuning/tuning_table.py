"""Table of `python -m parity.tune`: each setting that was tried, and the gain of the best ones."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table

from parity.speed.ratio import ratio_text
from parity.tuning.search import SearchResult


def tuning_table(result: SearchResult, title: str) -> Table:
    """Returns a table with a row for each value that was tried."""
    table = Table(title=title, title_justify="left")
    for heading in ("knob", "settings", "parity", "speed over the best before, 95 %", ""):
        table.add_column(heading, overflow="fold")
    for trial in result.trials:
        parity = trial.verdict if trial.gain is None else "[green]yes[/]"
        kept = "kept" if trial.kept else ""
        table.add_row(trial.knob, trial.settings.command_line(), parity, ratio_text(trial.gain), kept)
    return table


def tuning_lines(result: SearchResult) -> Iterator[str]:
    """Yields the result in sentences."""
    if result.gain is None:
        yield "no setting is faster than the defaults beyond doubt"
        return
    yield f"best settings: {ratio_text(result.gain)} times the defaults' speed, 95 %, measured anew"
    yield f"to repeat: {result.best.command_line()}"
