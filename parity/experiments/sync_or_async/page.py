"""Page of the study as Markdown: a table of losses for each workload, and the answer that it gives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from parity.experiments.sync_or_async import runs
from parity.experiments.sync_or_async.loss_table import BETTER, WORSE, Cell, Row, Rows
from parity.experiments.sync_or_async.runs import STALENESS, SYNC
from workloads.support.wording import counted

#: How the table is to be read.
LEGEND = (
    "Loss: mean of the last tenth of the steps, ± half a 95 % interval over the seeds. Diverged: no number, or no",
    "better than at the first step. Comparisons are seed by seed, each at 95 % by itself: of twenty settings that",
    "do not differ, one would be called different. Where none is seen, the seeds may be too few to see it.",
)


class Setting(NamedTuple):
    """A learning rate and the staleness of asynchronous training."""

    learning_rate: float
    staleness: int


def page_lines(tables: Mapping[str, Rows], replicas: int, about: str, seconds: float) -> Iterator[str]:
    """Yields the page line by line.

    Args:
      tables: {workload: rows}.
      replicas: number of replicas of every run.
      about: a sentence about the runs.
      seconds: duration of the study.

    Yields:
      lines of Markdown.
    """
    yield "# Synchronous or asynchronous?"
    yield ""
    yield from (runs.__doc__ or "").strip().splitlines()
    yield ""
    yield about
    yield from LEGEND
    for name, rows in tables.items():
        yield from ("", f"## {name}", "")
        yield from table_lines(rows)
        yield ""
        yield answer(name, rows, replicas)
    yield ""
    yield f"{seconds:.0f} s."


def table_lines(rows: Rows) -> Iterator[str]:
    """Yields a Markdown table with one row per learning rate and one column per staleness."""
    headings = ["learning rate", *map(_staleness_name, STALENESS)]
    yield "| " + " | ".join(headings) + " |"
    yield "|" + "---|" * len(headings)
    for learning_rate, row in rows.items():
        yield "| " + " | ".join([f"{learning_rate:g}", *(cell_text(row[k]) for k in STALENESS)]) + " |"


def cell_text(cell: Cell) -> str:
    """Returns the mean loss of a cell with its interval, or the number of runs that diverged."""
    if cell.interval is None:
        return f"diverged {cell.diverged}/{cell.runs}"
    return f"{cell.interval.mean:.4g} ± {cell.interval.half:.2g}"


def answer(workload_name: str, rows: Rows, replicas: int) -> str:
    """Returns one paragraph: where asynchronous training is useful, where it overshoots, and the best losses.

    Args:
      workload_name: the workload of the rows.
      rows: its losses.
      replicas: number of replicas of every run.

    Returns:
      sentences, each with the settings that they hold for.
    """
    same, far = compare_with_sync(rows, 1), compare_with_sync(rows, replicas)
    largest = ", ".join(f"{_staleness_name(k)} {_number_or_none(_largest_rate(rows, k))}" for k in STALENESS)
    best = ", ".join(f"{_staleness_name(k)} {_best_text(rows, k)}" for k in STALENESS)
    sentences = [
        f"{workload_name}, {counted(replicas, 'replica')}.",
        f"At the same learning rate, asynchronous training is useful {_settings_text(same[BETTER])}; "
        f"it overshoots {_settings_text(same[WORSE])}.",
        f"Against synchronous training at {replicas} times the learning rate, as {replicas} updates go as far as one "
        f"of {replicas} times the learning rate, it is useful {_settings_text(far[BETTER])}; "
        f"it overshoots {_settings_text(far[WORSE])}; no difference is seen {_settings_text(far[None])}.",
        f"The largest learning rate at which every run trains: {largest}.",
        f"The lowest loss, each at its own best learning rate: {best}.",
    ]
    return " ".join(sentences)


def compare_with_sync(rows: Rows, times: int) -> dict[str | None, list[Setting]]:
    """Compares asynchronous training with synchronous training at `times` the learning rate.

    Returns:
      {`BETTER`, `WORSE` or None for no difference: settings}; settings where both sides diverge are left out.
    """
    found: dict[str | None, list[Setting]] = {BETTER: [], WORSE: [], None: []}
    for learning_rate, row in rows.items():
        if learning_rate * times not in rows:
            continue
        sync = rows[learning_rate * times][SYNC]
        for staleness, cell in _asynchronous(row):
            if not (cell.diverged and sync.diverged):
                found[cell.compared_with(sync)].append(Setting(learning_rate, staleness))
    return found


def _asynchronous(row: Row) -> Iterator[tuple[int, Cell]]:
    for staleness in STALENESS:
        if staleness is not None:
            yield staleness, row[staleness]


def _largest_rate(rows: Rows, staleness: int | None) -> float | None:
    """The largest learning rate at which no run diverges; None if one does at each."""
    return max((rate for rate, row in rows.items() if not row[staleness].diverged), default=None)


def _number_or_none(number: float | None) -> str:
    return "none" if number is None else f"{number:g}"


def _best_text(rows: Rows, staleness: int | None) -> str:
    """The lowest mean loss at one staleness and its learning rate; "none" if a run diverges at each."""
    intervals = {rate: row[staleness].interval for rate, row in rows.items()}
    means = [(interval.mean, rate) for rate, interval in intervals.items() if interval is not None]
    if not means:
        return "none"
    mean, rate = min(means)
    return f"{mean:.4g} (at {rate:g})"


def _settings_text(settings: Iterable[Setting]) -> str:
    """Settings in words, grouped by learning rate."""
    by_rate: dict[float, list[str]] = {}
    for setting in settings:
        by_rate.setdefault(setting.learning_rate, []).append(str(setting.staleness))
    texts = [f"at {rate:g} with staleness {', '.join(of_rate)}" for rate, of_rate in sorted(by_rate.items())]
    return "; ".join(texts) if texts else "nowhere"


def _staleness_name(staleness: int | None) -> str:
    return "synchronous" if staleness is SYNC else f"staleness {staleness}"
