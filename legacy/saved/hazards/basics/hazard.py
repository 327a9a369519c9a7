"""A hazard: something that is wrong in a tower program, or easily goes wrong in its port."""

from __future__ import annotations

import collections
from collections.abc import Collection
from typing import NamedTuple

from workloads.support.wording import plural


class Hazard(NamedTuple):
    """One hazard of a saved program.

    Attributes:
      id: the kind of hazard, e.g. "TOWER_ON_CPU".
      op: a node where it shows.
      description: the fault, with its figures.
      advice: the equivalent, or the remedy, in `tf.distribute`.
    """

    id: str
    op: str
    description: str
    advice: str

    def row(self) -> dict[str, str]:
        """The hazard as a row of the page and of the JSON, with the keys that the JSON format has."""
        keys = ("hazard", "op", "what", "in tf.distribute")
        return collections.OrderedDict(zip(keys, self))


def listed_towers(towers: Collection[int]) -> str:
    """Returns the numbers of towers in words: "towers 0, 2"."""
    return plural(len(towers), "tower ", "towers ") + ", ".join(map(str, sorted(towers)))
