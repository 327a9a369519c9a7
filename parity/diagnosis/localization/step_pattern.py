"""The pattern of the steps in which something differs: from a step on, until a step, or in every k-th."""

from __future__ import annotations

from collections.abc import Sequence


def describe_steps(wrong: Sequence[int], compared: Sequence[int]) -> str:
    """Describes the steps in which something differs among those in which it could have been seen.

    Args:
      wrong: numbers of the steps in which it differs, ascending; some, but not all, of `compared`.
      compared: numbers of all steps in which a difference would have been seen, ascending.

    Returns:
      a phrase that follows a verb.

    >>> describe_steps([5, 10, 11], [0, 3, 5, 10, 11])
    'from step 5 on'
    >>> describe_steps([0, 1], [0, 1, 2, 3])
    'until step 1'
    >>> describe_steps([1, 4], [0, 1, 2, 3, 4, 5])
    'in every 3rd step, first in step 1'
    """
    if len(wrong) > 1 and list(wrong) == list(compared[-len(wrong) :]):
        return f"from step {wrong[0]} on"
    if len(wrong) > 1 and list(wrong) == list(compared[: len(wrong)]):
        return f"until step {wrong[-1]}"
    if len(wrong) == 1:
        return f"in step {wrong[0]} alone" if len(compared) > 1 else f"in step {wrong[0]}"
    period = _period(wrong, compared)
    if period:
        return f"in every {_ordinal(period)} step, first in step {wrong[0]}"
    listed = ", ".join(map(str, wrong[:6])) + (", ..." if len(wrong) > 6 else "")
    return f"in steps {listed}"


def _period(wrong: Sequence[int], compared: Sequence[int]) -> int:
    """The k for which exactly every k-th step is wrong, or 0."""
    period = min(after - before for before, after in zip(wrong, wrong[1:]))
    expected = [step for step in compared if step % period == wrong[0] % period]
    return period if period > 1 and expected == list(wrong) else 0


def _ordinal(number: int) -> str:
    endings = {1: "st", 2: "nd", 3: "rd"}
    ending = "th" if 10 < number % 100 < 14 else endings.get(number % 10, "th")
    return f"{number}{ending}"
