"""Choices that decide the races of a step: the default, and those of the other orders that its graph allows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

#: Reads that each get both places in turn, in all combinations: an average's decay, `(1 + n) / (10 + n)`, reads its
#: step counter twice. More reads than these move together.
MOST_SINGLE_READERS = 2


class RaceChoices(NamedTuple):
    """Decisions of the races that a graph leaves open.

    Attributes:
      averages_after: whether reads that are meant to come after an update do, such as a moving average's read of its
        weight; if not, every racing read comes before.
      late_readers: nodes that read after the updates, whatever they are meant for, such as a second reader of a step
        counter.
      reversed_updates: whether updates that no path of the graph orders run in the opposite order.
    """

    averages_after: bool = True
    late_readers: tuple[str, ...] = ()
    reversed_updates: bool = False

    @property
    def rules_first(self) -> bool:
        """Whether of two updates that nothing orders, an optimizer's comes first."""
        return self.averages_after and not self.reversed_updates


#: The default: what authors most likely meant.
AS_MEANT = RaceChoices()


def other_choices(early_readers: Sequence[str]) -> Iterator[RaceChoices]:
    """Yields the choices that differ from the default.

    Args:
      early_readers: nodes outside of the gradients' computation whose racing reads come first by default.
    """
    readers = list(dict.fromkeys(early_readers))
    groups = [(reader,) for reader in readers] if len(readers) <= MOST_SINGLE_READERS else [tuple(readers)]
    yield RaceChoices(averages_after=False)
    yield RaceChoices(reversed_updates=True)
    for averages_after, number in itertools.product((True, False), range(1, len(groups) + 1)):
        for chosen in itertools.combinations(groups, number):
            yield RaceChoices(averages_after, tuple(itertools.chain.from_iterable(chosen)))
