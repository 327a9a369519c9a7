"""Widens the bounds of made-up integers as far as the graph still runs: several lengths, and several values."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from legacy.saved.data_trial.trial_choices import ranges_of_several, with_long_sequences
from legacy.saved.data_trial.trials import MOST_RUNS_OF_A_CHOICE, Fit, Trials
from workloads.lifted.plan import Input


class WiderBounds:
    """Widens the bounds of the integers of a fit, by trying.

    Args:
      trials: runs the graph.
      entries: the inputs as the graph describes them.
    """

    def __init__(self, trials: Trials, entries: Sequence[Input]) -> None:
        self._trials, self._entries = trials, entries

    def with_other_lengths(self, fit: Fit) -> Fit:
        """Returns a fit with lengths of sequences up to the longest that the graph takes, where all are equal.

        A graph may need one of the full length, such as one that loops as often as the greatest length says.
        """
        batch = fit.batch or self._trials.per_replica_batch
        numbers = range(len(fit.entries))
        for number in (*numbers, *numbers):  # again, beside others that are longer now
            entry, least = fit.entries[number], self._entries[number].low
            if not least or entry.limit != entry.low + 1:
                continue
            shorter = self._with_shorter(fit, entry, least, batch)
            if shorter is not None:
                fit = shorter
                continue
            fit = self._with_longer(fit, number, batch)
            if self._trials.runs_left() <= -MOST_RUNS_OF_A_CHOICE:
                return fit
        return fit

    def _with_shorter(self, fit: Fit, entry: Input, least: int, batch: int) -> Fit | None:
        """Returns a fit in which an input's lengths are between the least and the one that all have; None without any.

        The shortest sequence may have to hold what other inputs point at, as the places that a pointer network learns:
        lengths of half the longest and more are tried, too, one of them the longest.

        Args:
          fit: in which all are equal.
          entry: the input.
          least: the least length.
          batch: number of a tower's examples.
        """
        half = (least + entry.low + 1) // 2
        for low, has_full in ((least, False), (least, True), (half, True)) if least < entry.low else ():
            other = dataclasses.replace(entry, low=low, has_full=has_full)
            shorter = [other if one is entry else one for one in fit.entries]
            outcome = self._trials.run(shorter, batch)
            if outcome.is_good:
                return Fit(shorter, fit.batch, outcome)
        return None

    def _with_longer(self, fit: Fit, number: int, batch: int) -> Fit:
        """Returns a fit with lengths from the one that all have up to the longest that the graph takes.

        What is longer may need other sequences that are long, as labels need the times of CTC.

        Args:
          fit: in which all lengths of an input are equal.
          number: of the input.
          batch: number of a tower's examples.
        """
        least = fit.entries[number].low
        sizes = {size for other in fit.entries for size in other.example if size and size > least}
        for longest in sorted({least + 1} | sizes):
            longer = dataclasses.replace(fit.entries[number], limit=longest + 1)
            fit = self._with_input(fit, number, longer, batch) or fit
        return fit

    def with_several_values(self, fit: Fit) -> Fit:
        """Returns a fit in which integers that are no lengths have two values each, where the graph runs so.

        One of them may be why all were set to one value, such as a mask whose product over many pixels is zero.
        """
        if not fit.outcome.is_good:
            return fit
        for number, entry in enumerate(fit.entries):
            if entry.dtype.startswith("int") and entry.limit == entry.low + 1 and not self._entries[number].low:
                fit = self._with_ranges(fit, number, ranges_of_several(entry))
        return fit

    def _with_ranges(self, fit: Fit, number: int, ranges: Sequence[tuple[int, int, bool]]) -> Fit:
        """Returns a fit in which an input has the first of some ranges with which the graph runs.

        Args:
          fit: as found so far.
          number: of the input.
          ranges: (low, limit, has_full) of each.

        Returns:
          `fit` if the graph runs with none of them.
        """
        batch = fit.batch or self._trials.per_replica_batch
        for low, limit, has_full in ranges:
            bounded = dataclasses.replace(fit.entries[number], low=low, limit=limit, has_full=has_full)
            found = self._with_input(fit, number, bounded, batch)
            if found is not None:
                return found
        return fit

    def _with_input(self, fit: Fit, number: int, entry: Input, batch: int) -> Fit | None:
        """Returns a fit with other bounds of an input, perhaps beside longer sequences.

        Args:
          fit: as found so far.
          number: of the input.
          entry: the input with these bounds.
          batch: number of a tower's examples.

        Returns:
          None if the graph does not run so, or was tried too often.
        """
        entries = [*fit.entries[:number], entry, *fit.entries[number + 1 :]]
        long = with_long_sequences(entries, self._entries)
        for tried in (entries, long) if long != entries else (entries,):
            if self._trials.runs_left() <= -MOST_RUNS_OF_A_CHOICE:
                return None
            outcome = self._trials.run(tried, batch)
            if outcome.is_good:
                return Fit(tried, fit.batch, outcome)
        return None
