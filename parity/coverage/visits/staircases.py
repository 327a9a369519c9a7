"""Counts at which a staircase of a saved graph rises: where a multiple of a counter reaches a whole number.

`exponential_decay(step * batch, 200000, 0.7, staircase=True)` has no step among its constants: it decays at
200000 / batch, and so does the decay of a batch norm's statistics that is computed alike.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from parity.coverage.changed_constants import FACTOR
from parity.coverage.visits.counted_numbers import LARGEST
from parity.coverage.visits.counter_uses import FLOORS, CounterUse

#: Stairs that are looked for, of each staircase.
STAIRS = (1, 2)
#: Most stairs among which that one is looked for whose count tells a constant from one that is changed by `FACTOR`.
MOST_STAIRS = 200


def stairs_of(uses: Sequence[CounterUse]) -> list[int]:
    """Finds the first counts at which staircases of counters rise.

    Args:
      uses: of the counters.

    Returns:
      The counts from 2 on, each once, rising: where a floor of a multiple of a counter rises first and again, and the
      first one that it would not reach there if a mutant changed the multiple.
    """
    rounded = [use.after for use in uses if use.kind in FLOORS]
    counts = {
        line.count_at(line.first_stair() - 1 + k)
        for line in rounded
        for k in (*STAIRS, *_telling_stair(1 / line.multiple))
    }
    return sorted(count for count in counts if 2 <= count < LARGEST)


def _telling_stair(length: float) -> Iterator[int]:
    """Yields the first stair that a whole number of counts reaches, and would not reach with a longer one.

    >>> list(_telling_stair(6.3)), list(_telling_stair(20.0))
    ([3], [1])
    """
    stairs = range(1, MOST_STAIRS + 1)
    yield from itertools.islice((k for k in stairs if math.ceil(k * length) < k * length * FACTOR), 1)
