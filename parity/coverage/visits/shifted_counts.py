"""Numbers that a saved graph subtracts from a counter, as a schedule that counts from the end of a warm-up on.

`piecewise_constant(step - 500, [10000], ...)` changes at 10500, which is none of its constants.
"""

from __future__ import annotations

from collections.abc import Sequence

from parity.coverage.visits.counted_numbers import LARGEST
from parity.coverage.visits.counter_uses import CounterUse


def behind_shifts(uses: Sequence[CounterUse], numbers: Sequence[int]) -> list[int]:
    """Finds the counts at which a counter, minus a constant, is one of some numbers.

    Args:
      uses: of the counters.
      numbers: that a schedule is made of.

    Returns:
      The counts from 2 on, rising; none without such a subtraction.
    """
    subtracted = [-use.after.offset for use in uses if use.kind == "Sub" and use.is_of_count]
    shifts = {int(shift) for shift in subtracted if shift > 0 and shift.is_integer()}
    counts = {number + shift for number in numbers for shift in shifts}
    return sorted(count for count in counts if 2 <= count < LARGEST)
