"""Losses of the study as a table: for each workload, learning rate and staleness the mean over the seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from parity.experiments.intervals import Interval, confidence_interval
from parity.experiments.sync_or_async.runs import STALENESS, RunLosses

BETTER, WORSE = "better", "worse"


class Cell:
    """All seeds of one workload, learning rate and staleness.

    Args:
      outcomes: one per seed.

    Attributes:
      runs: number of runs.
      diverged: number of runs that diverged.
      interval: mean of the final losses with its 95 % interval; None if a run diverged.
    """

    def __init__(self, outcomes: Sequence[RunLosses]) -> None:
        self._finals = {outcome.case.seed: outcome.final for outcome in outcomes}
        self.runs = len(outcomes)
        self.diverged = sum(outcome.diverged for outcome in outcomes)
        self.interval: Interval | None = None if self.diverged else confidence_interval(list(self._finals.values()))

    def compared_with(self, other: Cell) -> str | None:
        """Compares the final losses with another cell's, seed by seed.

        Returns:
          `BETTER` or `WORSE` where the mean difference lies beyond its 95 % interval; `WORSE` where only this cell has
          runs that diverged; else None.
        """
        if self.diverged or other.diverged:
            return WORSE if self.diverged and not other.diverged else None
        gain, half = confidence_interval([other._finals[seed] - final for seed, final in self._finals.items()])
        if abs(gain) <= half:
            return None
        return BETTER if gain > 0 else WORSE


#: {staleness: cell}, with the staleness of `STALENESS`.
Row = Mapping["int | None", Cell]

#: {learning rate: row} of one workload, in ascending order.
Rows = Mapping[float, Row]


def loss_tables(outcomes: Iterable[RunLosses]) -> dict[str, Rows]:
    """Returns {workload: rows} of outcomes that hold every staleness for every learning rate."""
    cells: dict[str, dict[float, dict[int | None, list[RunLosses]]]] = {}
    for outcome in outcomes:
        case = outcome.case
        row = cells.setdefault(case.workload, {}).setdefault(case.learning_rate, {})
        row.setdefault(case.staleness, []).append(outcome)
    return {
        name: {rate: {k: Cell(row[k]) for k in STALENESS} for rate, row in sorted(rows.items())}
        for name, rows in cells.items()
    }
