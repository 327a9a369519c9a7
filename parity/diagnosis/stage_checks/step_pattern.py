"""Describes the steps in which something is off: all, from one on, until one, every k-th, or some."""

from __future__ import annotations

from collections.abc import Sequence


def describe_steps(steps: Sequence[int], judged: Sequence[int]) -> str:
    """Returns a phrase for the steps in which a tensor is off.

    Args:
      steps: numbers of those steps, increasing; at least one.
      judged: numbers of all steps in which the tensor was judged, increasing.

    Returns:
      the phrase.

    >>> describe_steps([0, 1, 2], [0, 1, 2])
    'in every step (3)'
    >>> describe_steps([2, 3, 4], [0, 1, 2, 3, 4]), describe_steps([0, 1], [0, 1, 2, 3])
    ('from step 2 on (3 of 5 steps)', 'until step 1 (2 of 4 steps)')
    >>> describe_steps([1, 3, 5], [0, 1, 2, 3, 4, 5]), describe_steps([1, 2, 5], [0, 1, 2, 3, 4, 5])
    ('in every 2nd step from step 1 on (3 of 6 steps)', 'in steps 1, 2, 5 (3 of 6 steps)')
    """
    count = f"{len(steps)} of {len(judged)} steps"
    if len(steps) == len(judged):
        return f"in every step ({len(steps)})" if len(steps) > 1 else f"in step {steps[0]}, the only one judged"
    if len(steps) == 1:
        last = ", the last one judged" if steps[0] == judged[-1] else ""
        return f"in step {steps[0]}{last} ({count})"
    if list(steps) == [step for step in judged if step >= steps[0]]:
        return f"from step {steps[0]} on ({count})"
    if list(steps) == [step for step in judged if step <= steps[-1]]:
        return f"until step {steps[-1]} ({count})"
    period = _period(steps, judged)
    if period:
        return f"in every {_ordinal(period)} step from step {steps[0]} on ({count})"
    listed = ", ".join(str(step) for step in steps[:8]) + (" ..." if len(steps) > 8 else "")
    return f"in steps {listed} ({count})"


def _period(steps: Sequence[int], judged: Sequence[int]) -> int:
    """The distance of steps that are equally far apart, with every judged step that is due among them; else 0."""
    if len(steps) < 2:
        return 0
    period = min(b - a for a, b in zip(steps, steps[1:]))
    due = [step for step in judged if step >= steps[0] and (step - steps[0]) % period == 0]
    return period if period > 1 and due == list(steps) else 0


def _ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number % 100 not in (11, 12, 13) else "th"
    return f"{number}{ending}"
